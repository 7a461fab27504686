//! Methods that would take the property from its trustee.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    fn close(self) -> u64 {
        self.0
    }
    fn change(mut self) -> u64 {
        self.0 += 1;
        self.0
    }
    fn unbox(self: Box<Self>) -> u64 {
        self.0
    }
    fn get(&self) -> u64 {
        self.0
    }
}

fn main() {
    println!("{}", Account(1).close() + Account(1).change() + Box::new(Account(2)).unbox());
    gossamer::entrust(Account(1)).get();
}
