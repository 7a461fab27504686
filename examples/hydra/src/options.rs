//! The command line. Where redis has an option, this one has its name.

use crate::settings::{Settings, size};
use crate::store::eviction::Policy;
use clap::Parser;
use gossamer::Config;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

/// A key-value store that speaks redis's protocol.
#[derive(Parser)]
#[command(version)]
pub struct Options {
    /// Port to listen at, on every worker of every node; 0 for any free port
    #[arg(long, short, default_value_t = 6379)]
    port: u16,
    /// Address to listen at, or the name of one
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = parse_address)]
    bind: IpAddr,
    /// Path of a Unix socket to listen at, on node 0
    #[arg(long = "unixsocket", default_value = "")]
    unix_socket: String,
    /// Password that clients need
    #[arg(long, default_value = "")]
    requirepass: String,
    /// Most clients of one node
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    maxclients: u32,
    /// Databases, of which SELECT picks one
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    databases: u16,
    /// Memory that keys may take on all nodes together, as 64mb; 0 for no limit
    #[arg(long, default_value = "0", value_parser = parse_size)]
    maxmemory: usize,
    /// What is removed when memory runs out: noeviction, or allkeys- or volatile- with lru, lfu or random, or
    /// volatile-ttl
    #[arg(long, default_value = "noeviction", value_parser = parse_policy)]
    maxmemory_policy: Policy,
    /// Directory of the snapshot, on node 0
    #[arg(long, default_value = ".")]
    dir: String,
    /// Name of the snapshot
    #[arg(long, default_value = "dump.hydra", value_parser = parse_file_name)]
    dbfilename: String,
    /// Workers [default: one for each processor]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Workers of each node that keep keys and serve no clients, while the others serve clients and keep no keys; 0:
    /// all do both
    #[arg(long, default_value_t = 0)]
    pub trustees: usize,
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    let found = (text, 0).to_socket_addrs().map_err(|error| error.to_string())?.next();
    found.map(|address| address.ip()).ok_or_else(|| "no such address".to_owned())
}

fn parse_file_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        return Err("not the name of a file; the directory is --dir".to_owned());
    }
    Ok(text.to_owned())
}

fn parse_size(text: &str) -> Result<usize, String> {
    size(text).ok_or_else(|| "not a size, such as 64mb".to_owned())
}

fn parse_policy(text: &str) -> Result<Policy, String> {
    Policy::named(text).ok_or_else(|| "not a policy".to_owned())
}

impl Options {
    pub fn into_parts(self) -> (IpAddr, Settings, Config) {
        let settings = Settings {
            port: self.port,
            unix_socket: self.unix_socket,
            password: self.requirepass.into_bytes(),
            most_clients: self.maxclients as usize,
            databases: self.databases,
            maxmemory: self.maxmemory,
            policy: self.maxmemory_policy,
            directory: self.dir,
            file: self.dbfilename,
            ..Settings::default()
        };
        let config = Config::default();
        (self.bind, settings, self.threads.map_or(config.clone(), |threads| config.threads(threads.into())))
    }
}
