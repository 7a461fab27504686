//! Gives the library the name under which programs look for the real one.

fn main() {
    // The library's own thread runs in it as long as the process does.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libibverbs.so.1,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
