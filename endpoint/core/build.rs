//! Makes the tests of this crate and of those above it link: the program's own build script has the linker wrap these
//! two functions.

fn main() {
    for symbol in ["clock_gettime", "epoll_wait"] {
        println!("cargo:rustc-link-arg=-Wl,--wrap={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
