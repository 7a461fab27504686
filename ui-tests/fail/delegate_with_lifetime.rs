//! `#[gossamer::delegate]` on a type that borrows.

struct View<'a>(&'a str);

#[gossamer::delegate]
impl<'a> View<'a> {
    fn length(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    println!("{}", View("a").length());
}
