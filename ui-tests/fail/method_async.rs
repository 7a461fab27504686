//! An `async` method.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    async fn get(&self) -> u64 {
        self.0
    }
}

fn main() {
    drop(Account(1).get());
}
