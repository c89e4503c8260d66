//! Routes the C library's clock and `epoll_wait` through `src/clock.rs` (ld's `--wrap`), in the program only.

fn main() {
    for symbol in ["clock_gettime", "epoll_wait"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--wrap={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
