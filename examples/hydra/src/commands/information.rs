//! INFO. What it says of clients, memory of the process and processor time is about this node; all else is about all nodes.

use crate::clients::{ClientCounts, Clients};
use crate::commands::server::REDIS_VERSION;
use crate::connection::{Connection, registry};
use crate::snapshot::Saves;
use crate::store::{STATISTICS, Shard, now};
use gossamer::rack;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs, process};

/// A section's name, and its lines.
type Section = fn(&Connection, &mut String);

const SECTIONS: [(&str, Section); 9] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", statistics),
    ("Replication", replication),
    ("CPU", processors),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
];

pub fn info(connection: &mut Connection, arguments: &[&[u8]]) {
    connection.finish_pending();
    let wanted: Vec<_> = arguments[1..].iter().map(|section| section.to_ascii_lowercase()).collect();
    let is_wanted = |section: &str| {
        wanted.is_empty()
            || wanted.iter().any(|other| {
                [section.as_bytes(), b"all", b"default", b"everything"].contains(&other.as_slice())
            })
    };
    let mut texts = Vec::new();
    for (name, lines) in SECTIONS.into_iter().filter(|(name, _)| is_wanted(&name.to_lowercase())) {
        let mut text = format!("# {name}\r\n");
        lines(connection, &mut text);
        texts.push(text);
    }
    connection.plan.reply().verbatim(&texts.join("\r\n"));
}

macro_rules! lines {
    ($text:ident: $($name:literal = $value:expr),* $(,)?) => {
        $(let _written = write!($text, "{}:{}\r\n", $name, $value);)*
    };
}

fn server(connection: &Connection, text: &mut String) {
    let server = &connection.server;
    let uptime = server.uptime().as_secs();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    lines!(text:
        "redis_version" = REDIS_VERSION,
        "redis_mode" = "standalone",
        "hydra_version" = env!("CARGO_PKG_VERSION"),
        "hydra_shards" = connection.shards().len(),
        "hydra_nodes" = rack::nodes().len(),
        "os" = format_args!("Linux {} {}", kernel.trim(), env::consts::ARCH),
        "arch_bits" = usize::BITS,
        "multiplexing_api" = "epoll",
        "process_id" = process::id(),
        "run_id" = server.run_id(),
        "tcp_port" = server.settings.read().port,
        "server_time_usec" = now() * 1000,
        "uptime_in_seconds" = uptime,
        "uptime_in_days" = uptime / (24 * 60 * 60),
        "executable" = env::current_exe().unwrap_or_default().display(),
        "config_file" = "",
    );
}

fn clients(connection: &Connection, text: &mut String) {
    lines!(text:
        "connected_clients" = registry::count(),
        "maxclients" = connection.server.settings.read().most_clients,
        "blocked_clients" = registry::blocked(),
    );
}

/// As redis writes it.
fn human(bytes: u64) -> String {
    let scaled = |power: u32| bytes as f64 / 1024_f64.powi(power as i32);
    match bytes.max(1).ilog2() / 10 {
        0 => format!("{bytes}B"),
        power @ 1..=3 => format!("{:.2}{}", scaled(power), ["K", "M", "G"][power as usize - 1]),
        _ => format!("{:.2}T", scaled(4)),
    }
}

/// Bytes, from a file of `/proc` with lines as `Name:  1234 kB`.
fn kibibytes(path: &str, name: &str) -> u64 {
    let all = fs::read_to_string(path).unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn memory(connection: &Connection, text: &mut String) {
    let used = sums(connection)[0];
    let resident = kibibytes("/proc/self/status", "VmRSS:");
    let system = kibibytes("/proc/meminfo", "MemTotal:");
    let settings = connection.server.settings.read();
    lines!(text:
        "used_memory" = used,
        "used_memory_human" = human(used),
        "used_memory_rss" = resident,
        "used_memory_rss_human" = human(resident),
        "total_system_memory" = system,
        "total_system_memory_human" = human(system),
        "maxmemory" = settings.maxmemory,
        "maxmemory_human" = human(settings.maxmemory as u64),
        "maxmemory_policy" = settings.policy.name(),
    );
}

fn persistence(connection: &Connection, text: &mut String) {
    let [is_saving, has_failed] = connection.server.saves.apply_with(Saves::state, ());
    lines!(text:
        "loading" = 0,
        "rdb_bgsave_in_progress" = u8::from(is_saving),
        "rdb_last_save_time" = connection.server.last_save(),
        "rdb_last_bgsave_status" = if has_failed { "err" } else { "ok" },
        "aof_enabled" = 0,
    );
}

/// Of all shards: what [`STATISTICS`] names.
fn sums(connection: &Connection) -> [u64; STATISTICS.len()] {
    let mut sums = [0; STATISTICS.len()];
    for own in connection.server.store.map_all(Shard::statistics) {
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sums
}

fn statistics(connection: &Connection, text: &mut String) {
    let clients = &connection.server.clients;
    let mut all = ClientCounts::default();
    clients.map_all(Clients::counts).into_iter().for_each(|counts| all.add(counts));
    let distinct = |names: Vec<Vec<Vec<u8>>>| names.into_iter().flatten().collect::<BTreeSet<_>>().len();
    lines!(text:
        "total_connections_received" = all.received,
        "total_commands_processed" = all.commands,
        "rejected_connections" = all.rejected,
        "pubsub_channels" = distinct(clients.map_all_with(Clients::channels, None)),
        "pubsub_patterns" = distinct(clients.map_all(Clients::patterns)),
    );
    for (name, sum) in STATISTICS.iter().zip(sums(connection)).skip(1) {
        let _written = write!(text, "{name}:{sum}\r\n");
    }
}

fn replication(_: &Connection, text: &mut String) {
    lines!(text: "role" = "master", "connected_slaves" = 0);
}

/// User and system time.
fn processors(_: &Connection, text: &mut String) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may have anything in it: from the state on, the 3rd field of all.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    if let [user, system] = ticks[..] {
        // In hundredths of a second on every Linux.
        lines!(text:
            "used_cpu_sys" = format_args!("{:.6}", system / 100.0),
            "used_cpu_user" = format_args!("{:.6}", user / 100.0),
        );
    }
}

fn cluster(_: &Connection, text: &mut String) {
    lines!(text: "cluster_enabled" = 0);
}

/// A line for each database that has keys.
fn keyspace(connection: &Connection, text: &mut String) {
    let mut sums: Vec<[u64; 2]> = Vec::new();
    for own in connection.server.store.map_all(Shard::keys_by_database) {
        sums.resize(sums.len().max(own.len()), [0; 2]);
        for (sum, own) in sums.iter_mut().zip(own) {
            *sum = [sum[0] + own[0], sum[1] + own[1]];
        }
    }
    for (number, [keys, expires]) in sums.iter().enumerate().filter(|(_, [keys, _])| *keys > 0) {
        let _written = write!(text, "db{number}:keys={keys},expires={expires},avg_ttl=0\r\n");
    }
}
