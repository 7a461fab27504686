//! The derive on a type that borrows.

#[derive(gossamer::NoRef)]
struct Word<'a> {
    text: &'a str,
}

fn main() {}
