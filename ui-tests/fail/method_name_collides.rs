//! Methods with the name of a form of another.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    fn get(&self) -> u64 {
        self.0
    }
    fn get_then(&self) -> u64 {
        self.0
    }
    fn get_async(&self) -> u64 {
        self.0
    }
}

fn main() {
    println!("{}", Account(1).get() + Account(1).get_then() + Account(1).get_async());
}
