//! What CONFIG GET and CONFIG SET know of.

use crate::protocol::refusal::Refusal;
use crate::store::eviction::{Eviction, Policy, SAMPLES};
use crate::store::ranges::LONGEST_VALUE;
use gossamer::NoRef;

/// Every node has a copy.
#[derive(NoRef, Clone, Debug)]
pub struct Settings {
    pub port: u16,
    pub unix_socket: String,
    /// Empty if clients need none.
    pub password: String,
    pub most_clients: usize,
    /// Bytes of all shards together; 0 for no limit.
    pub maxmemory: usize,
    pub policy: Policy,
    pub samples: usize,
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
    /// By the names that redis has for them.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        vec![
            ("appendonly", "no".to_owned()),
            ("databases", "1".to_owned()),
            ("dbfilename", self.file.clone()),
            ("dir", self.directory.clone()),
            ("maxclients", self.most_clients.to_string()),
            ("maxmemory", self.maxmemory.to_string()),
            ("maxmemory-policy", self.policy.name().to_owned()),
            ("maxmemory-samples", self.samples.to_string()),
            ("port", self.port.to_string()),
            ("proto-max-bulk-len", LONGEST_VALUE.to_string()),
            ("requirepass", self.password.clone()),
            ("save", String::new()),
            ("unixsocket", self.unix_socket.clone()),
        ]
    }

    /// Changes one by its name.
    ///
    /// # Errors
    /// If there is none of this name that can be changed, or the value is not one for it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let failed = |why: &str| {
            let text = format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}");
            Err(Refusal::from(text))
        };
        match name.to_ascii_lowercase().as_str() {
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

    /// What each of so many shards may take.
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
            maxmemory: 0,
            policy: Policy::default(),
            samples: SAMPLES,
            directory: ".".to_owned(),
            file: "dump.hydra".to_owned(),
        }
    }
}
