//! `#[gossamer::delegate]` on impls: plain, generic, with constants, patterns, `Self`, and functions without receiver.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, clippy::all)]

use gossamer::{NoRef, Trust};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// An account.
#[derive(Clone, Debug, PartialEq, NoRef)]
pub struct Account {
    balance: u64,
}

/// The fee.
pub const FEE: u64 = 1;

#[gossamer::delegate]
impl Account {
    /// The largest deposit.
    pub const LARGEST: u64 = 1000;

    /// Opens an account.
    pub fn open() -> Self {
        Self { balance: 0 }
    }

    /// Pays in.
    #[must_use]
    pub fn deposit(&mut self, amount: u64) -> u64 {
        self.balance += amount;
        self.balance
    }

    /// The balance.
    pub fn balance(&self) -> u64 {
        self.balance
    }

    /// Takes over another account.
    pub(crate) fn merge(
        &mut self,
        other: Self,
        (fee, _): (u64, ()),
        _: [u8; Self::LARGEST as usize],
    ) -> Option<Self> {
        let before = self.clone();
        self.balance += other.balance - fee;
        Some(before)
    }

    fn log_to(&self, log: Trust<Vec<u64>>) {
        let balance = self.balance;
        log.apply_then(move |log| log.push(balance), |()| ());
    }

    fn set(self: &mut Self, mut r#type: u64, property: u64) {
        r#type += property;
        self.balance = r#type;
    }

    #[cfg(any())]
    fn absent(&self, _: Missing) {}
}

impl Account {
    /// Another impl may hold what cannot be delegated.
    pub fn view(&self) -> &u64 {
        &self.balance
    }
}

/// A table.
pub struct Table<K, V, const N: usize = 1>
where
    K: Eq + Hash,
{
    map: HashMap<K, V>,
}

#[gossamer::delegate]
impl<K: Eq + Hash + Clone, V, const N: usize> Table<K, V, N>
where
    V: Clone,
{
    /// A new table.
    pub fn new() -> Self {
        Table { map: HashMap::new() }
    }

    /// Puts a value.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        self.map.insert(key, value)
    }

    /// Gets a value.
    pub fn get(&self, key: K) -> Option<V> {
        self.map.get(&key).cloned()
    }

    /// Puts many.
    pub fn put_all<I>(&mut self, items: I) -> usize
    where
        I: IntoIterator<Item = (K, V)>,
    {
        self.map.extend(items);
        self.map.len() * N
    }

    /// What a type makes of the length.
    pub fn length_as<T: TryFrom<usize> + Default>(&self) -> T {
        T::try_from(self.map.len()).unwrap_or_default()
    }
}

#[gossamer::main]
fn main() {
    let account = gossamer::entrust(Account::open());
    assert_eq!(account.deposit(5), 5);
    assert_eq!(account.deposit_async(5).wait(), 10);
    let seen = Rc::new(Cell::new(0));
    let callback = seen.clone();
    account.deposit_then(1, move |balance| callback.set(balance));
    while seen.get() == 0 {
        gossamer::yield_now();
    }
    assert_eq!((seen.get(), account.balance()), (11, 11));
    let before = account.merge(Account { balance: 10 }, (FEE, ()), [0; 1000]);
    assert_eq!(before, Some(Account { balance: 11 }));
    account.set(40, 2);
    assert_eq!(account.apply(|account| *account.view()), 42);
    let log = gossamer::entrust(Vec::new());
    account.log_to(log.clone());
    while log.apply(|log| log.is_empty()) {
        gossamer::yield_now();
    }
    assert_eq!(log.apply(|log| log[0]), 42);

    let table = gossamer::entrust(Table::<String, Vec<u64>, 2>::new());
    assert_eq!(table.put("a".into(), vec![1]), None);
    assert_eq!(table.get("a".into()), Some(vec![1]));
    assert_eq!(table.put_all(vec![("b".into(), vec![]), ("c".into(), vec![])]), 6);
    assert_eq!(table.length_as::<u8>(), 3);
    table.length_as_then::<u8>(|length| assert_eq!(length, 3));
}
