//! A bank with an auditor: an account is a latch, so a movement may report to the auditor, and wait for it, before
//! anybody else sees the account. At the end the coins in the accounts and those on the way add up to the same sum, on
//! any number of nodes.

use gossamer::{Latch, NoRef, Trust, Trustee};

const ACCOUNTS: usize = 40;
/// Coins in each account when the bank opens.
const OPENING: u64 = 1000;
const TELLERS: usize = 20;
/// How often each fiber moves money.
const TRANSFERS: usize = 200;

type Account = Trust<Latch<u64>>;

/// What the auditor writes down.
#[derive(Default, NoRef)]
struct Books {
    on_the_way: u64,
    most_on_the_way: u64,
    movements: u64,
}

#[gossamer::delegate]
fn transfer(from: &Account, to: &Account, coins: u64, auditor: &Trust<Books>) {
    let books = auditor.clone();
    let paid = from.launch(move |balance| {
        let Some(rest) = balance.checked_sub(coins) else { return false };
        books.apply(move |books| {
            books.on_the_way += coins;
            books.most_on_the_way = books.most_on_the_way.max(books.on_the_way);
        });
        *balance = rest;
        true
    });
    if paid {
        let books = auditor.clone();
        to.launch(move |balance| {
            *balance += coins;
            books.apply(move |books| {
                books.on_the_way -= coins;
                books.movements += 1;
            });
        });
    }
}

fn teller(accounts: &[Account], seed: usize, auditor: &Trust<Books>) {
    let mut random = seed;
    let mut below = |limit| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    for _ in 0..TRANSFERS {
        let (from, to, coins) = (below(ACCOUNTS), below(ACCOUNTS), below(500) as u64);
        transfer(&accounts[from], &accounts[to], coins, auditor);
    }
}

#[gossamer::main]
fn main() {
    let trustees = Trustee::all();
    let open = |number: usize| trustees[number % trustees.len()].entrust(Latch::new(OPENING));
    let accounts: Vec<Account> = (0..ACCOUNTS).map(open).collect();
    let auditor = gossamer::entrust(Books::default());
    let hire = |seed: usize, accounts: Vec<Account>, auditor: Trust<Books>| {
        gossamer::spawn(move || teller(&accounts, seed, &auditor))
    };
    let tellers: Vec<_> = (0..TELLERS).map(|seed| hire(seed, accounts.clone(), auditor.clone())).collect();
    tellers.into_iter().for_each(|teller| teller.join());

    let coins: u64 = accounts.iter().map(|account| account.launch(|balance| *balance)).sum();
    let (left, most, movements) =
        auditor.apply(|books| (books.on_the_way, books.most_on_the_way, books.movements));
    eprintln!("{movements} movements, never more than {most} coins on the way");
    println!("{coins} coins in {ACCOUNTS} accounts, {left} on the way");
}
