//! In an annotated module a type that does not travel is a mistake only where the method is called on a trust.

#[gossamer::delegate]
mod account {
    pub struct Mode;

    pub struct Account;

    impl Account {
        pub fn mode(&self) -> Mode {
            Mode
        }
    }
}

fn main() {
    gossamer::entrust(account::Account).mode();
}
