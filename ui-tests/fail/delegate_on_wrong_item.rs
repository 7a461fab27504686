//! `#[gossamer::delegate]` on items that it cannot stand on.

#[gossamer::delegate]
struct Account;

#[gossamer::delegate]
enum Kind {
    One,
}

#[gossamer::delegate]
trait Deposit {
    fn deposit(&mut self);
}

#[gossamer::delegate]
const LIMIT: u64 = 5;

#[gossamer::delegate]
static TOTAL: u64 = 5;

#[gossamer::delegate]
type Amount = u64;

#[gossamer::delegate]
use std::fmt;

#[gossamer::delegate]
union Bits {
    word: u32,
}

fn main() {}
