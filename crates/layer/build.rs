//! Linker settings of the preload library.

fn main() {
    // Threads keep pointers into the library until they exit, so it must never be unmapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
