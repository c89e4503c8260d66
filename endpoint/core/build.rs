//! Makes the tests of this crate and of those above it link: the program wraps these two functions in its own build
//! script.

fn main() {
    for symbol in ["clock_gettime", "epoll_wait"] {
        println!("cargo:rustc-link-arg=-Wl,--wrap={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
