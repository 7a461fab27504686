//! The settings of CONFIG GET and CONFIG SET.

use crate::protocol::refusal::Refusal;
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
    pub password: String,
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

impl Settings {
    /// By the names that redis uses for them.
    pub fn all(&self) -> Vec<(&'static str, String)> {
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
            ("port", self.port.to_string()),
            ("proto-max-bulk-len", LONGEST_VALUE.to_string()),
            ("requirepass", self.password.clone()),
            ("save", String::new()),
            ("set-max-intset-entries", encodings.set_numbers.to_string()),
            ("set-max-listpack-entries", encodings.set_entries.to_string()),
            ("set-max-listpack-value", encodings.set_value.to_string()),
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
        all
    }

    /// Changes the setting of this name.
    ///
    /// # Errors
    /// If no setting of this name can be changed, or the value is not valid for it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let failed = |why: &str| {
            let text = format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}");
            Err(Refusal::from(text))
        };
        let name_of_redis = name.to_ascii_lowercase();
        // Their names before redis 7.
        let name_of_redis = name_of_redis.replace("ziplist", "listpack");
        if name_of_redis == "list-max-listpack-size" {
            return match value.parse() {
                Ok(size) if size != 0 => {
                    self.encodings.list_chunk = size;
                    Ok(())
                }
                _ => failed("argument couldn't be parsed into an integer"),
            };
        }
        let encodings = &mut self.encodings;
        let encoding = match name_of_redis.as_str() {
            "hash-max-listpack-entries" => Some(&mut encodings.hash_entries),
            "hash-max-listpack-value" => Some(&mut encodings.hash_value),
            "set-max-intset-entries" => Some(&mut encodings.set_numbers),
            "set-max-listpack-entries" => Some(&mut encodings.set_entries),
            "set-max-listpack-value" => Some(&mut encodings.set_value),
            "zset-max-listpack-entries" => Some(&mut encodings.sorted_entries),
            "zset-max-listpack-value" => Some(&mut encodings.sorted_value),
            _ => None,
        };
        if let Some(encoding) = encoding {
            return match value.parse() {
                Ok(count) => {
                    *encoding = count;
                    Ok(())
                }
                Err(_) => failed("argument couldn't be parsed into an integer"),
            };
        }
        match name_of_redis.as_str() {
            // Snapshots are made only when a client asks for one.
            "save" if value.is_empty() => {}
            "requirepass" => self.password = value.to_owned(),
            "maxclients" => match value.parse() {
                Ok(count) if count > 0 => self.most_clients = count,
                _ => return failed("argument couldn't be parsed into an integer"),
            },
            "maxmemory" => match size(value) {
                Some(size) => self.maxmemory = size,
                None => return failed("argument must be a memory value"),
            },
            "maxmemory-policy" => match Policy::named(value) {
                Some(policy) => self.policy = policy,
                None => {
                    return failed(
                        "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
                    );
                }
            },
            "maxmemory-samples" => match value.parse() {
                Ok(count) if count > 0 => self.samples = count,
                _ => return failed("argument couldn't be parsed into an integer"),
            },
            other if self.all().iter().any(|(name, _)| *name == other) => {
                return failed("can't set immutable config");
            }
            _ => {
                return Err(Refusal::from(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{name}'"
                )));
            }
        }
        Ok(())
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
            password: String::new(),
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
