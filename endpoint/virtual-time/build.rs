//! Has the tests link: what uses this crate wraps `clock_gettime` in a build script of its own.

fn main() {
    println!("cargo:rustc-link-arg=-Wl,--wrap=clock_gettime");
    println!("cargo:rerun-if-changed=build.rs");
}
