//! Has the linker send every call of `clock_gettime` to the role's held clock, quiche's included.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--wrap=clock_gettime");
}
