"""Packs a directory as a wheel: `pack_wheel.py DIRECTORY OUT VERSION PLATFORM EPOCH`. The result is reproducible."""

import base64
import hashlib
import sys
import time
import zipfile
from pathlib import Path

METADATA = """\
Metadata-Version: 2.1
Name: mpiscope
Version: {version}
Summary: See inside any MPI job, without rebuilding it
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

{readme}
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: mpiscope
Root-Is-Purelib: false
Tag: {tags}
"""


def main():
    folder, out, version, platform, epoch = sys.argv[1:]
    folder = Path(folder)
    info = f"mpiscope-{version}.dist-info"
    root = folder / f"mpiscope-{version}.data" / "data" / "share" / "doc" / "mpiscope"
    tags = "\nTag: ".join(f"py3-none-{one}" for one in platform.split("."))
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files[f"{info}/METADATA"] = METADATA.format(version=version, readme=(root / "README.md").read_text()).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tags=tags).encode()
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES.txt"):
        # The place where pip and other tools expect them; they are moved, not copied.
        files[f"{info}/licenses/{name}"] = files.pop((root / name).relative_to(folder).as_posix())
    record = [f"{name},sha256={digest(text)},{len(text)}" for name, text in sorted(files.items())]
    files[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    # Zip archives cannot represent times before 1980.
    when = time.gmtime(max(int(epoch), 315532800))[:6]
    # RECORD comes last, as the specification of wheels recommends.
    order = sorted(files, key=lambda name: (name.startswith(info), name.endswith("RECORD"), name))
    wheel = Path(out) / f"mpiscope-{version}-py3-none-{platform}.whl"
    with writer(wheel) as archive:
        for name in order:
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            executable = ".data/scripts/" in name or name.endswith(".so")
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, files[name], compresslevel=9)


def writer(wheel):
    """Opens an archive for writing; zopfli (the package zopflipy), if installed, saves another 3 % of its size."""
    try:
        import zopfli
    except ImportError:
        return zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED)
    return zopfli.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, iterations=1)


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
