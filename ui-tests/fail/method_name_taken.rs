//! Methods that a method of every trust would hide.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    fn apply(&mut self, n: u64) {
        self.0 += n;
    }
    fn trustee(&self) -> u64 {
        self.0
    }
    fn clone(&self) -> u64 {
        self.0
    }
}

fn main() {
    let mut account = Account(1);
    account.apply(account.trustee() + account.clone());
}
