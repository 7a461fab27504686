//! Gives the library the name under which programs look for the real one.

fn main() {
    // Its own thread runs in it for as long as the process does.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libibverbs.so.1,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
