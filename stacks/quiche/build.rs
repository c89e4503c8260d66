//! Has the linker send every call of `clock_gettime` to the held clock of virtual time, quiche's included.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--wrap=clock_gettime");
}
