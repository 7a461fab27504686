//! The settings of CONFIG GET and CONFIG SET.

use crate::protocol::number;
use crate::protocol::refusal::{Refusal, quoting};
use crate::store::eviction::{Eviction, Policy, SAMPLES};
use crate::store::ranges::LONGEST_VALUE;
use crate::store::value::Encodings;
use gossamer::NoRef;

/// Every node has a copy.
#[derive(NoRef, Clone, Debug)]
pub struct Settings {
    pub port: u16,
    pub unix_socket: String,
    /// Empty if clients need no password.
    pub password: Vec<u8>,
    pub most_clients: usize,
    pub databases: u16,
    /// Bytes of all shards together; 0 for no limit.
    pub maxmemory: usize,
    pub policy: Policy,
    pub samples: usize,
    pub encodings: Encodings,
    pub directory: String,
    pub file: String,
}

/// A size as redis writes it: `100`, `100k`, `64mb`.
pub fn size(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

const POLICIES: &str = "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction";

/// An integer in these bounds.
fn integer(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let number = number::parse(text.as_bytes()).ok_or("argument couldn't be parsed into an integer")?;
    let is_in_bounds = (least..=most).contains(&number);
    is_in_bounds
        .then_some(number)
        .ok_or_else(|| format!("argument must be between {least} and {most} inclusive"))
}

fn count(text: &str, least: i64, most: i64) -> Result<usize, String> {
    integer(text, least, most).map(|number| number as usize)
}

fn memory(text: &str) -> Result<usize, String> {
    size(text).ok_or_else(|| "argument must be a memory value".to_owned())
}

fn put<U>(setting: &mut U, value: Result<U, String>) -> Result<(), String> {
    *setting = value?;
    Ok(())
}

/// For a setting with one value: why it has no other.
fn only(value: &str, possible: &str, why: &str) -> Result<(), String> {
    if value.eq_ignore_ascii_case(possible) {
        Ok(())
    } else {
        Err(format!("{why}, so it stays '{possible}'"))
    }
}

/// Settings that only the command line has.
const IMMUTABLE: [&str; 6] = ["databases", "dbfilename", "dir", "port", "proto-max-bulk-len", "unixsocket"];

/// What comes before the name of a setting that is not changed.
const FAILED: &str = "ERR CONFIG SET failed (possibly related to argument '";

impl Settings {
    /// By the names that redis uses for them.
    pub fn all(&self) -> Vec<(&'static str, Vec<u8>)> {
        let encodings = &self.encodings;
        let mut all = vec![
            ("appendonly", "no".to_owned()),
            ("databases", self.databases.to_string()),
            ("dbfilename", self.file.clone()),
            ("dir", self.directory.clone()),
            ("hash-max-listpack-entries", encodings.hash_entries.to_string()),
            ("hash-max-listpack-value", encodings.hash_value.to_string()),
            ("list-max-listpack-size", encodings.list_chunk.to_string()),
            ("maxclients", self.most_clients.to_string()),
            ("maxmemory", self.maxmemory.to_string()),
            ("maxmemory-policy", self.policy.name().to_owned()),
            ("maxmemory-samples", self.samples.to_string()),
            ("notify-keyspace-events", String::new()),
            ("port", self.port.to_string()),
            ("proto-max-bulk-len", LONGEST_VALUE.to_string()),
            ("save", String::new()),
            ("set-max-intset-entries", encodings.set_numbers.to_string()),
            ("set-max-listpack-entries", encodings.set_entries.to_string()),
            ("set-max-listpack-value", encodings.set_value.to_string()),
            ("tcp-keepalive", "0".to_owned()),
            ("timeout", "0".to_owned()),
            ("unixsocket", self.unix_socket.clone()),
            ("zset-max-listpack-entries", encodings.sorted_entries.to_string()),
            ("zset-max-listpack-value", encodings.sorted_value.to_string()),
        ];
        // Their names before redis 7.
        all.extend([
            ("hash-max-ziplist-entries", encodings.hash_entries.to_string()),
            ("hash-max-ziplist-value", encodings.hash_value.to_string()),
            ("list-max-ziplist-size", encodings.list_chunk.to_string()),
            ("zset-max-ziplist-entries", encodings.sorted_entries.to_string()),
            ("zset-max-ziplist-value", encodings.sorted_value.to_string()),
        ]);
        let mut all: Vec<_> = all.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        all.push(("requirepass", self.password.clone()));
        all
    }

    /// The settings that a client wants to change. As in redis, all names are looked at before a value is.
    ///
    /// # Errors
    /// If one does not exist, cannot be changed, or is named twice.
    pub fn named<'a>(&self, given: impl Iterator<Item = &'a [u8]>) -> Result<Vec<&'static str>, Refusal> {
        let (all, mut named) = (self.all(), Vec::new());
        for given in given {
            let found = all.iter().find(|(name, _)| given.eq_ignore_ascii_case(name.as_bytes()));
            let unknown = "ERR Unknown option or number of arguments for CONFIG SET - '";
            let (name, _) = found.ok_or_else(|| quoting(unknown, given, "'"))?;
            if IMMUTABLE.contains(name) {
                return Err(quoting(FAILED, given, "') - can't set immutable config"));
            }
            if named.contains(name) {
                return Err(quoting(FAILED, given, "') - duplicate parameter"));
            }
            named.push(*name);
        }
        Ok(named)
    }

    /// Changes a setting that can be changed.
    ///
    /// # Errors
    /// If the value is not valid for it.
    pub fn set(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        // Only a password may be other than text: what is lost here makes all other values invalid.
        let value = &*String::from_utf8_lossy(bytes);
        let encodings = &mut self.encodings;
        // Names with "ziplist" are those before redis 7.
        let outcome = match name.replace("ziplist", "listpack").as_str() {
            "save" => only(value, "", "snapshots are made only when a client asks for one"),
            "appendonly" => only(value, "no", "there is no append-only file"),
            "notify-keyspace-events" => only(value, "", "there are no events of keys"),
            "tcp-keepalive" => only(value, "0", "connections are not probed"),
            "timeout" => only(value, "0", "connections of idle clients are not closed"),
            "requirepass" => put(&mut self.password, Ok(bytes.to_owned())),
            "maxclients" => put(&mut self.most_clients, count(value, 1, u32::MAX.into())),
            "maxmemory" => put(&mut self.maxmemory, memory(value)),
            "maxmemory-policy" => {
                put(&mut self.policy, Policy::named(value).ok_or_else(|| POLICIES.to_owned()))
            }
            "maxmemory-samples" => put(&mut self.samples, count(value, 1, i32::MAX.into())),
            "hash-max-listpack-entries" => put(&mut encodings.hash_entries, count(value, 0, i64::MAX)),
            "hash-max-listpack-value" => put(&mut encodings.hash_value, memory(value)),
            "list-max-listpack-size" if value == "0" => {
                Err("a piece of a list has an element at least".to_owned())
            }
            "list-max-listpack-size" => {
                put(&mut encodings.list_chunk, integer(value, i32::MIN.into(), i32::MAX.into()))
            }
            "set-max-intset-entries" => put(&mut encodings.set_numbers, count(value, 0, i64::MAX)),
            "set-max-listpack-entries" => put(&mut encodings.set_entries, count(value, 0, i64::MAX)),
            "set-max-listpack-value" => put(&mut encodings.set_value, memory(value)),
            "zset-max-listpack-entries" => put(&mut encodings.sorted_entries, count(value, 0, i64::MAX)),
            "zset-max-listpack-value" => put(&mut encodings.sorted_value, memory(value)),
            _ => Ok(()),
        };
        outcome.map_err(|why| format!("{FAILED}{name}') - {why}"))
    }

    /// How much memory each of this many shards may take.
    pub fn eviction(&self, shards: usize) -> Eviction {
        Eviction { limit: self.maxmemory.div_ceil(shards), policy: self.policy, samples: self.samples }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            port: 6379,
            unix_socket: String::new(),
            password: Vec::new(),
            most_clients: 10_000,
            databases: 16,
            maxmemory: 0,
            policy: Policy::default(),
            samples: SAMPLES,
            encodings: Encodings::default(),
            directory: ".".to_owned(),
            file: "dump.hydra".to_owned(),
        }
    }
}
