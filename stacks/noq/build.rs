//! Makes the linker redirect every call of `clock_gettime` to the held clock of virtual time, and of `epoll_wait` to
//! the role's own, including tokio's.

fn main() {
    for symbol in ["clock_gettime", "epoll_wait"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--wrap={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
