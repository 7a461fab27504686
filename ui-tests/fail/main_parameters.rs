//! `#[gossamer::main]` on a function with parameters.

#[gossamer::main]
fn start(arguments: Vec<String>) {
    println!("{}", arguments.len());
}

fn main() {
    start(Vec::new());
}
