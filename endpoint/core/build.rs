//! Lets the tests of this crate, and of the crates that use it, link: the build script of netwarp-endpoint has the
//! linker wrap these two functions, too.

fn main() {
    for symbol in ["clock_gettime", "epoll_wait"] {
        println!("cargo:rustc-link-arg=-Wl,--wrap={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
