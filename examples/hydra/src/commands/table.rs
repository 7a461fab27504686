//! What is known about a command: which part executes it, its arguments and its keys.

use crate::connection::Connection;
use crate::protocol::number;
use crate::store::operation::Operation;

/// Which part executes it.
#[derive(Clone, Copy)]
pub enum Handler {
    /// The shard of the first argument, with all arguments.
    Key(Operation),
    /// The shard of each argument; their replies are numbers, which are added up.
    Sum(Operation),
    /// The connection.
    Own(Own),
}

pub type Own = fn(&mut Connection, &[&[u8]]);

/// Which arguments are keys.
#[derive(Clone, Copy)]
pub enum Keys {
    /// From the first to the last, which counts from the end if it is negative; and the distance between two keys.
    Range(i64, i64, i64),
    /// This argument says how many keys follow it; and the first argument is one, if it is not that argument itself.
    Counted(usize),
    /// The first argument, and the one after STORE.
    FirstAndStored,
}

/// A command.
pub struct Command {
    pub name: &'static str,
    /// How many arguments it has, its name among them; at least this many if negative.
    pub arity: i64,
    pub handler: Handler,
    pub keys: Keys,
    pub flags: u16,
}

/// It changes something.
pub const WRITE: u16 = 1;
/// It may need several shards, those of its keys or all of them; or everything that was asked before has to be done
/// first.
pub const HOLDS: u16 = 2;
/// It concerns all keys, or may.
pub const ALL: u16 = 4;
/// It is executed at once, even between MULTI and EXEC.
pub const AT_ONCE: u16 = 8;
/// It needs no password.
pub const FREE: u16 = 16;
/// It is refused between MULTI and EXEC.
pub const OUTSIDE: u16 = 32;
/// Each shard does its part at once, and replies little: so several such commands may share a hold.
pub const SHARES: u16 = 64;
/// Clients in RESP2 that have subscribed may use it, too.
pub const SUBSCRIBED: u16 = 128;
/// It may take memory, and its parts do not check whether there is any.
pub const GROWS: u16 = 256;
/// Its first argument is a subcommand.
pub const CONTAINER: u16 = 512;

const ONE: Keys = Keys::Range(1, 1, 1);
pub const EACH: Keys = Keys::Range(1, -1, 1);
/// The first and the second argument.
pub const BOTH: Keys = Keys::Range(1, 2, 1);
/// All but the last argument.
pub const BUT_LAST: Keys = Keys::Range(1, -2, 1);
pub const NONE: Keys = Keys::Range(0, 0, 0);

pub const fn read(name: &'static str, arity: i64, operation: Operation) -> Command {
    Command { name, arity, handler: Handler::Key(operation), keys: ONE, flags: 0 }
}

pub const fn write(name: &'static str, arity: i64, operation: Operation) -> Command {
    Command { name, arity, handler: Handler::Key(operation), keys: ONE, flags: WRITE }
}

pub const fn sum(name: &'static str, operation: Operation, flags: u16) -> Command {
    let flags = flags | HOLDS | SHARES;
    Command { name, arity: -2, handler: Handler::Sum(operation), keys: EACH, flags }
}

pub const fn several(name: &'static str, arity: i64, own: Own, keys: Keys, flags: u16) -> Command {
    Command { name, arity, handler: Handler::Own(own), keys, flags: flags | HOLDS }
}

pub const fn own(name: &'static str, arity: i64, own: Own, flags: u16) -> Command {
    Command { name, arity, handler: Handler::Own(own), keys: NONE, flags }
}

/// Whether this many arguments are as many as an arity says.
#[inline]
pub fn accepts(arity: i64, count: usize) -> bool {
    let count = count as i64;
    if arity < 0 { count >= -arity } else { count == arity }
}

impl Command {
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub fn accepts(&self, count: usize) -> bool {
        accepts(self.arity, count)
    }

    /// Whether it may take memory, and so is refused when none is left.
    pub fn may_grow(&self) -> bool {
        match self.handler {
            Handler::Key(operation) => operation.may_grow(),
            Handler::Sum(_) => false,
            Handler::Own(_) => self.has(GROWS),
        }
    }

    /// The keys among its arguments; if their number is an argument, no more than there are.
    pub fn keys_of<'a>(&self, arguments: &[&'a [u8]]) -> Vec<&'a [u8]> {
        match self.keys {
            Keys::Range(first, last, step) => {
                let count = arguments.len() as i64;
                let last = if last < 0 { count + last } else { last.min(count - 1) };
                if first == 0 || last < first {
                    return Vec::new();
                }
                arguments[first as usize..=last as usize].iter().copied().step_by(step as usize).collect()
            }
            Keys::Counted(at) => {
                let count = number::parse(arguments[at]).and_then(|count| usize::try_from(count).ok());
                let behind = arguments[at + 1..].iter().take(count.unwrap_or(0)).copied();
                let first =
                    if self.has(WRITE) && at == 2 && self.stores() { Some(arguments[1]) } else { None };
                first.into_iter().chain(behind).collect()
            }
            Keys::FirstAndStored => {
                let is_store = |pair: &&[&[u8]]| pair[0].eq_ignore_ascii_case(b"STORE");
                let stored = arguments[2..].windows(2).rfind(is_store).map(|pair| pair[1]);
                [arguments[1]].into_iter().chain(stored).collect()
            }
        }
    }

    /// Whether its first argument is the key for the result.
    fn stores(&self) -> bool {
        self.name.ends_with("store")
    }
}
