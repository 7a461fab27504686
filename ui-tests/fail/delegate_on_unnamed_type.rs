//! `#[gossamer::delegate]` on the impl of a type without a name.

trait Shape {}

#[gossamer::delegate]
impl dyn Shape {
    fn area(&self) -> u64 {
        1
    }
}

fn main() {}
