//! Lets the tests of this crate link. A program that uses the crate has the linker wrap `clock_gettime` in its own
//! build script.

fn main() {
    println!("cargo:rustc-link-arg=-Wl,--wrap=clock_gettime");
    println!("cargo:rerun-if-changed=build.rs");
}
