//! `#[gossamer::main]` on functions that are more than a plain `fn`.

#[gossamer::main]
unsafe extern "C" fn start() {}

#[gossamer::main]
const fn constant() {}

fn main() {
    constant();
    unsafe { start() };
}
