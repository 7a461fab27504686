//! Only one impl of a type can be delegated.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    fn get(&self) -> u64 {
        self.0
    }
}

#[gossamer::delegate]
impl Account {
    fn set(&mut self, value: u64) {
        self.0 = value;
    }
}

fn main() {}
