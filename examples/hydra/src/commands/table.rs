//! All commands: their names, arguments and keys.

use crate::commands::{client, introspection, keyspace, persistence, server, several, transactions};
use crate::connection::Connection;
use crate::store::operation::Operation;

/// Who does it.
#[derive(Clone, Copy)]
pub enum Handler {
    /// The shard of the first argument, with all arguments.
    Key(Operation),
    /// The shard of each argument; their replies are numbers, which are summed.
    Sum(Operation),
    /// The connection.
    Own(fn(&mut Connection, &[&[u8]])),
}

/// A command.
pub struct Command {
    pub name: &'static str,
    /// How many arguments it has, its name among them; at least so many if negative.
    pub arity: i64,
    pub handler: Handler,
    /// The first and the last of its arguments that are keys, from the end if negative, and how far one is from the next.
    pub keys: (i64, i64, i64),
    pub flags: u8,
}

/// It changes something.
pub const WRITE: u8 = 1;
/// It may take several shards: those of its keys, or all.
pub const HOLDS: u8 = 2;
/// It is about all keys.
pub const ALL: u8 = 4;
/// It is done at once, also between MULTI and EXEC.
pub const AT_ONCE: u8 = 8;
/// It needs no password.
pub const FREE: u8 = 16;
/// It is refused between MULTI and EXEC.
pub const OUTSIDE: u8 = 32;
/// Each shard does its part of it at once, and replies little: so several of them may share a hold.
pub const SHARES: u8 = 64;

const ONE: (i64, i64, i64) = (1, 1, 1);
const EACH: (i64, i64, i64) = (1, -1, 1);
const NONE: (i64, i64, i64) = (0, 0, 0);

const fn read(name: &'static str, arity: i64, operation: Operation) -> Command {
    Command { name, arity, handler: Handler::Key(operation), keys: ONE, flags: 0 }
}

const fn write(name: &'static str, arity: i64, operation: Operation) -> Command {
    Command { name, arity, handler: Handler::Key(operation), keys: ONE, flags: WRITE }
}

const fn sum(name: &'static str, operation: Operation, flags: u8) -> Command {
    Command { name, arity: -2, handler: Handler::Sum(operation), keys: EACH, flags: flags | HOLDS | SHARES }
}

type Own = fn(&mut Connection, &[&[u8]]);

const fn several(name: &'static str, arity: i64, own: Own, keys: (i64, i64, i64), flags: u8) -> Command {
    Command { name, arity, handler: Handler::Own(own), keys, flags: flags | HOLDS }
}

const fn own(name: &'static str, arity: i64, own: Own, flags: u8) -> Command {
    Command { name, arity, handler: Handler::Own(own), keys: NONE, flags }
}

/// In the order of their names.
pub static COMMANDS: [Command; 66] = [
    write("append", 3, Operation::Append),
    own("auth", -2, server::auth, FREE),
    own("bgsave", -1, persistence::save_in_background, OUTSIDE),
    own("client", -2, client::client, 0),
    own("command", -1, introspection::command, 0),
    own("config", -2, introspection::config, 0),
    own("dbsize", 1, keyspace::size, ALL),
    write("decr", 2, Operation::Decr),
    write("decrby", 3, Operation::DecrBy),
    sum("del", Operation::Del, WRITE),
    own("discard", 1, transactions::discard, AT_ONCE),
    own("echo", 2, server::echo, 0),
    own("exec", 1, transactions::exec, AT_ONCE | HOLDS),
    sum("exists", Operation::Exists, 0),
    write("expire", -3, Operation::Expire),
    write("expireat", -3, Operation::ExpireAt),
    read("expiretime", 2, Operation::ExpireTime),
    several("flushall", -1, keyspace::flush, NONE, WRITE | ALL),
    several("flushdb", -1, keyspace::flush, NONE, WRITE | ALL),
    read("get", 2, Operation::Get),
    read("getbit", 3, Operation::GetBit),
    write("getdel", 2, Operation::GetDel),
    write("getex", -2, Operation::GetEx),
    read("getrange", 4, Operation::GetRange),
    write("getset", 3, Operation::GetSet),
    own("hello", -1, server::hello, FREE),
    write("incr", 2, Operation::Incr),
    write("incrby", 3, Operation::IncrBy),
    write("incrbyfloat", 3, Operation::IncrByFloat),
    own("info", -1, introspection::info, 0),
    own("keys", 2, keyspace::keys, ALL),
    own("lastsave", 1, persistence::last_save, 0),
    several("mget", -2, several::get_each, EACH, 0),
    several("mset", -3, several::set_each, (1, -1, 2), WRITE | SHARES),
    several("msetnx", -3, several::set_each_if_absent, (1, -1, 2), WRITE),
    own("multi", 1, transactions::multi, AT_ONCE),
    Command { name: "object", arity: -2, handler: Handler::Own(keyspace::object), keys: (2, 2, 1), flags: 0 },
    write("persist", 2, Operation::Persist),
    write("pexpire", -3, Operation::PExpire),
    write("pexpireat", -3, Operation::PExpireAt),
    read("pexpiretime", 2, Operation::PExpireTime),
    own("ping", -1, server::ping, 0),
    write("psetex", 4, Operation::PSetEx),
    read("pttl", 2, Operation::PTtl),
    own("quit", -1, server::quit, AT_ONCE | FREE),
    own("randomkey", 1, keyspace::random_key, ALL),
    several("rename", 3, several::rename, (1, 2, 1), WRITE),
    several("renamenx", 3, several::rename_if_absent, (1, 2, 1), WRITE),
    own("reset", 1, server::reset, AT_ONCE | FREE),
    own("save", 1, persistence::save, OUTSIDE),
    own("scan", -2, keyspace::scan, ALL),
    own("select", 2, server::select, 0),
    write("set", -3, Operation::Set),
    write("setbit", 4, Operation::SetBit),
    write("setex", 4, Operation::SetEx),
    write("setnx", 3, Operation::SetNx),
    write("setrange", 4, Operation::SetRange),
    read("strlen", 2, Operation::StrLen),
    read("substr", 4, Operation::GetRange),
    own("time", 1, server::time, 0),
    sum("touch", Operation::Exists, 0),
    read("ttl", 2, Operation::Ttl),
    read("type", 2, Operation::Type),
    sum("unlink", Operation::Del, WRITE),
    own("unwatch", 1, transactions::unwatch, 0),
    Command {
        name: "watch",
        arity: -2,
        handler: Handler::Own(transactions::watch),
        keys: EACH,
        flags: AT_ONCE,
    },
];

/// As many places as keep most commands at the first one that is looked at.
const PLACES: usize = 512;

/// The names of commands as numbers, and their indices, each at the place that its number gives or behind it; 0 where there is none.
static NAMES: [(u128, u8); PLACES] = {
    let mut names = [(0, 0); PLACES];
    let mut index = 0;
    while index < COMMANDS.len() {
        let name = COMMANDS[index].name.as_bytes();
        let (mut number, mut at) = (0, 0);
        while at < name.len() {
            number |= (name[at] as u128) << (8 * at);
            at += 1;
        }
        let mut place = place(number);
        while names[place].0 != 0 {
            place = (place + 1) % PLACES;
        }
        names[place] = (number, index as u8);
        index += 1;
    }
    names
};

const fn place(name: u128) -> usize {
    let folded = (name as u64 ^ (name >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (folded >> 32) as usize % PLACES
}

/// The command of a name, in letters of either case.
#[inline]
pub fn command(name: &[u8]) -> Option<&'static Command> {
    if name.is_empty() || name.len() > 16 {
        return None;
    }
    let mut lower = [0; 16];
    lower[..name.len()].copy_from_slice(name);
    lower.make_ascii_lowercase();
    let number = u128::from_le_bytes(lower);
    let mut place = place(number);
    loop {
        match NAMES[place] {
            (0, _) => return None,
            (other, index) if other == number => return Some(&COMMANDS[usize::from(index)]),
            _ => place = (place + 1) % PLACES,
        }
    }
}

impl Command {
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub fn accepts(&self, count: usize) -> bool {
        let count = count as i64;
        if self.arity < 0 { count >= -self.arity } else { count == self.arity }
    }

    /// Whether it may take memory, so that it is refused when there is none.
    pub fn may_grow(&self) -> bool {
        match self.handler {
            Handler::Key(operation) => operation.may_grow(),
            Handler::Sum(_) => false,
            Handler::Own(_) => matches!(self.name, "mset" | "msetnx"),
        }
    }

    /// The keys among its arguments.
    pub fn keys_of<'a>(&self, arguments: &[&'a [u8]]) -> Vec<&'a [u8]> {
        let (first, last, step) = self.keys;
        let count = arguments.len() as i64;
        let last = if last < 0 { count + last } else { last.min(count - 1) };
        if first == 0 || last < first {
            return Vec::new();
        }
        arguments[first as usize..=last as usize].iter().copied().step_by(step as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        for other in &COMMANDS {
            let found = command(other.name.to_uppercase().as_bytes());
            assert!(found.is_some_and(|found| std::ptr::eq(found, other)), "{}", other.name);
        }
        assert!(
            command(b"").is_none()
                && command(b"ge").is_none()
                && command(&[b'a'; 40]).is_none()
                && command(&[0; 16]).is_none()
        );
    }
}
