//! `#[gossamer::delegate]` on a module: every function and every inherent impl inside, also in nested modules.
#![deny(warnings)]

#[gossamer::delegate]
mod bank {
    use gossamer::Trust;

    pub struct Account {
        balance: u64,
        owner: String,
    }

    impl Account {
        pub fn new(owner: &str) -> Self {
            Self { balance: 0, owner: owner.to_owned() }
        }
        pub fn deposit(&mut self, amount: u64) -> u64 {
            self.balance += amount;
            self.balance
        }
        // Cannot be delegated: it stays a method of the account only.
        pub fn owner(&self) -> &str {
            &self.owner
        }
    }

    // A second impl of the same type adds to the first.
    impl Account {
        pub fn balance(&self) -> u64 {
            self.balance
        }
    }

    pub fn deposit_twice(account: &Trust<Account>, amount: u64) -> u64 {
        account.deposit(amount);
        account.apply(|account| account.deposit(amount))
    }

    // A helper whose types do not travel is no mistake as long as nobody calls it on a trust.
    pub struct Settings {
        mode: Mode,
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    pub enum Mode {
        Fast,
    }

    impl Settings {
        pub fn new(mode: Mode) -> Self {
            Self { mode }
        }
        pub fn mode(&self) -> Mode {
            self.mode
        }
    }

    impl std::fmt::Display for Account {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let Account { balance, owner } = self;
            write!(f, "{owner}: {balance}")
        }
    }

    pub mod nested {
        pub struct Counter(pub u64);

        impl Counter {
            pub fn add(&mut self, n: u64) -> u64 {
                self.0 += n;
                self.0
            }
        }

        // An impl with an attribute of its own is left to it.
        pub struct Own(pub u64);

        #[gossamer::delegate]
        impl Own {
            pub fn get(&self) -> u64 {
                self.0
            }
        }

        pub trait Total {
            fn total(&self, extra: u64) -> u64;
        }

        impl Total for gossamer::Trust<Counter> {
            fn total(&self, extra: u64) -> u64 {
                self.apply(move |counter| counter.0 + extra)
            }
        }
    }
}

use bank::nested::{Counter, Own, Total};
use bank::{Account, Mode, Settings, deposit_twice};

#[gossamer::main]
fn main() {
    let account = gossamer::entrust(Account::new("me"));
    assert_eq!(deposit_twice(&account, 2), 4);
    assert_eq!(account.balance(), 4);
    assert_eq!(account.apply(|account| account.owner().to_owned()), "me");
    assert_eq!(account.apply(|account| account.to_string()), "me: 4");
    let counter = gossamer::entrust(Counter(1));
    assert_eq!((counter.add(1), counter.total(1)), (2, 3));
    assert_eq!(gossamer::entrust(Own(5)).get(), 5);
    assert_eq!(Settings::new(Mode::Fast).mode(), Mode::Fast);
}
