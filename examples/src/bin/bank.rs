//! A bank: accounts spread over all trustees, and many fibers that move money between them at the same time.
//!
//! `#[gossamer::delegate]` on the impl makes every method callable on a `Trust<Account>`: `account.deposit(5)` waits
//! for the result, `account.deposit_then(5, |balance| …)` calls back, and `account.deposit_async(5)` is a future.

use gossamer::{NoRef, Trust, Trustee};
use std::fmt;

/// Accounts of the bank.
const ACCOUNTS: usize = 100;
/// Coins in each when the bank opens.
const OPENING: u64 = 1000;
/// Fibers that move money.
const TELLERS: usize = 50;
/// How often each of them does.
const TRANSFERS: usize = 2000;

/// A property: only its trustee touches it, so its methods need no lock.
#[derive(NoRef)]
struct Account {
    balance: u64,
}

/// There is not enough money.
#[derive(Debug, NoRef)]
struct Refused {
    missing: u64,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused, {} coins are missing", self.missing)
    }
}

#[gossamer::delegate]
impl Account {
    /// Pays in, and returns the new balance.
    fn deposit(&mut self, coins: u64) -> u64 {
        self.balance += coins;
        self.balance
    }

    /// Pays out, and returns the new balance.
    fn withdraw(&mut self, coins: u64) -> Result<u64, Refused> {
        match self.balance.checked_sub(coins) {
            None => Err(Refused { missing: coins - self.balance }),
            Some(rest) => {
                self.balance = rest;
                Ok(rest)
            }
        }
    }

    fn balance(&self) -> u64 {
        self.balance
    }
}

/// Moves money between random accounts. What an account does not have is not moved.
fn teller(accounts: &[Trust<Account>], seed: usize) {
    let mut random = seed;
    let mut below = |limit| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    for _ in 0..TRANSFERS {
        let (from, to, coins) = (below(ACCOUNTS), below(ACCOUNTS), below(500) as u64);
        if accounts[from].withdraw(coins).is_ok() {
            // This fiber does not wait for the deposit.
            accounts[to].deposit_then(coins, |_balance| ());
        }
    }
}

#[gossamer::main]
fn main() {
    let trustees = Trustee::all();
    let open = |number: usize| trustees[number % trustees.len()].entrust(Account { balance: OPENING });
    let accounts: Vec<Trust<Account>> = (0..ACCOUNTS).map(open).collect();

    let mut tellers = Vec::new();
    for seed in 0..TELLERS {
        let accounts = accounts.clone();
        tellers.push(gossamer::spawn(move || teller(&accounts, seed)));
    }
    tellers.into_iter().for_each(|teller| teller.join());

    // Nobody waited for the last deposits, which may still be on their way.
    let coins = ACCOUNTS as u64 * OPENING;
    while accounts.iter().map(|account| account.balance()).sum::<u64>() < coins {
        gossamer::yield_now();
    }
    println!("{} transfers by {TELLERS} tellers: {coins} coins before and after", TELLERS * TRANSFERS);

    let account = gossamer::entrust(Account { balance: 5 });
    match account.withdraw(7) {
        Ok(rest) => println!("7 coins from an account with 5: {rest} are left"),
        Err(refused) => println!("7 coins from an account with 5: {refused}"),
    }
}
