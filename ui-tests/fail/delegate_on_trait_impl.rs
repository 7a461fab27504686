//! `#[gossamer::delegate]` on the impl of a trait.

struct Account(u64);

#[gossamer::delegate]
impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn main() {
    println!("{}", Account(1));
}
