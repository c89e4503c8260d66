//! Makes the linker redirect every call of `clock_gettime`, including quiche's, to the held clock of virtual time.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--wrap=clock_gettime");
}
