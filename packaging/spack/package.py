# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)
#
# For a Spack repository: packages/mpiscope/package.py. How far it was checked: packaging/README.md.

from spack.package import *


class Mpiscope(Package):
    """See inside any MPI job, without rebuilding it: why it hangs, what each rank is doing, where the time went, what is
    behind a handle. For MPICH and its family, Open MPI, and libraries of the MPI standard ABI."""

    git = "file:///path/to/mpiscope"  # path of the repository

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("rust@1.92:", type="build")
    depends_on("c", type="build")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        packages = ("mpiscope", "mpiscope-layer", "mpiscope-plugin-handles", "mpiscope-plugin-queues")
        cargo("build", "--release", "--locked", *(f"--package={name}" for name in packages))
        install_dir = join_path(prefix.lib, "mpiscope")
        mkdirp(prefix.bin, install_dir, prefix.share.man.man1)
        install("target/release/mpiscope", prefix.bin)
        for name in ("libmpiscope.so", "libmpiscope_handles.so", "libmpiscope_queues.so"):
            install(join_path("target/release", name), install_dir)
        install_tree("include", prefix.include)
        install_tree("share", prefix.share.mpiscope)
        Executable(prefix.bin.mpiscope)("man-pages", prefix.share.man.man1)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.mpiscope)("--version")
