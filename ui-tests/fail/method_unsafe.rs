//! An `unsafe` method.

struct Account(u64);

#[gossamer::delegate]
impl Account {
    unsafe fn get(&self) -> u64 {
        self.0
    }
}

fn main() {
    unsafe { Account(1).get() };
}
