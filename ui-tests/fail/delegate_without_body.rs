//! `#[gossamer::delegate]` on a declaration without a body.

trait Deposit {
    #[gossamer::delegate]
    fn deposit(&mut self);
}

fn main() {}
