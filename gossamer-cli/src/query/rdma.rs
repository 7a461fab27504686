//! What a machine offers for RDMA, as text and as JSON.

use crate::rack::rdma::Variables;
use crate::terminal::table;
use gossamer::rack::rdma::{
    DeviceReport, GidReport, LOCKED_FOR_EACH_NODE, LockedMemory, OpenedReport, PairReport, PortReport,
    RdmaReport, RdmaTrouble,
};
use serde_json::{Value, json};

/// Lines about a machine.
#[must_use]
pub fn text(report: &RdmaReport, variables: &Variables) -> String {
    let set: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set =
        if set.is_empty() { "none: everything is found automatically".to_owned() } else { set.join(" ") };
    let library = if report.has_library { "was opened" } else { "cannot be opened" };
    let mut text = format!("library        libibverbs.so.1 {library}\nsettings       {set}\n");
    text += &format!("locked memory  {}\n", locked_text(&report.locked_memory));
    for DeviceReport { name, opened } in &report.devices {
        match opened {
            Ok(opened) => text += &opened_text(name, opened),
            Err(why) => text += &format!("device {name}: cannot be used: {why}\n"),
        }
    }
    text
}

fn locked_text(memory: &LockedMemory) -> String {
    let limit =
        memory.limit.map_or("no limit".to_owned(), |limit| format!("at most {}", table::bytes(limit)));
    let exempt = match memory {
        LockedMemory { limit: Some(_), is_exempt: true } => ", which does not hold here (CAP_IPC_LOCK)",
        _ => "",
    };
    let each = table::bytes(LOCKED_FOR_EACH_NODE);
    format!("{limit} (ulimit -l){exempt}; a node locks about {each} for each node of another machine")
}

fn opened_text(name: &str, opened: &OpenedReport) -> String {
    let OpenedReport { queue_pairs, work_requests, completion_entries, .. } = opened;
    let OpenedReport { reads_received, reads_sent, ports, .. } = opened;
    let mut text = format!(
        "device {name}: {queue_pairs} queue pairs of {work_requests} work requests, {completion_entries} completions in a queue, \
         {reads_received} reads taken and {reads_sent} sent at once\n"
    );
    for port in ports {
        text += &port_text(port);
    }
    text
}

fn port_text(port: &PortReport) -> String {
    let PortReport { port: number, state, link_layer, mtu, lid, gids, unused } = port;
    let lid = if *lid == 0 { String::new() } else { format!(", LID {lid}") };
    let used = unused.as_ref().map_or("used".to_owned(), |why| format!("not used: {why}"));
    let mut text = format!("  port {number}: {state}, {link_layer}{lid}, MTU {mtu}; {used}\n");
    for GidReport { index, kind, address, is_used } in gids {
        text +=
            &format!("    GID {index:<3} {kind:<10} {address}{}\n", if *is_used { "  (used)" } else { "" });
    }
    text
}

/// Everything about a machine.
#[must_use]
pub fn json(report: &RdmaReport) -> Value {
    let trouble = report.trouble();
    json!({
        "usable": trouble.is_none(),
        "error": trouble.as_ref().map(|trouble| &trouble.why),
        "advice": trouble.as_ref().map(|trouble| &trouble.advice),
        "library": report.has_library,
        "used": report.ports(),
        "locked_memory": {
            "limit_bytes": report.locked_memory.limit,
            "exempt": report.locked_memory.is_exempt,
            "bytes_for_each_node": LOCKED_FOR_EACH_NODE,
        },
        "devices": report.devices.iter().map(device_json).collect::<Vec<_>>(),
    })
}

fn device_json(device: &DeviceReport) -> Value {
    match &device.opened {
        Err(why) => json!({ "device": device.name, "error": why }),
        Ok(opened) => json!({
            "device": device.name,
            "queue_pairs": opened.queue_pairs,
            "work_requests": opened.work_requests,
            "completion_entries": opened.completion_entries,
            "reads_received": opened.reads_received,
            "reads_sent": opened.reads_sent,
            "ports": opened.ports.iter().map(port_json).collect::<Vec<_>>(),
        }),
    }
}

fn port_json(port: &PortReport) -> Value {
    let gid = |gid: &GidReport| json!({ "index": gid.index, "type": gid.kind, "address": gid.address, "used": gid.is_used });
    json!({
        "port": port.port, "state": port.state, "link_layer": port.link_layer, "mtu": port.mtu, "lid": port.lid,
        "used": port.unused.is_none(), "why_not": port.unused,
        "gids": port.gids.iter().map(gid).collect::<Vec<_>>(),
    })
}

/// Why RDMA cannot be used on a machine, and what to do.
#[must_use]
pub fn trouble_text(place: &str, trouble: &RdmaTrouble) -> String {
    let RdmaTrouble { why, advice } = trouble;
    let advice = if advice.is_empty() { String::new() } else { format!("\nWhat to do: {advice}.") };
    format!("RDMA cannot be used {place}: {why}{advice}")
}

/// `mlx5_0:1 (10.0.0.1) and mlx5_0:1 (10.0.0.2), MTU 4096`
#[must_use]
pub fn pair_text(pair: &PairReport) -> String {
    let PairReport { ports: [one, other], addresses: [first, second], mtu } = pair;
    format!("{one} ({first}) and {other} ({second}), MTU {mtu}")
}

/// A pair of ports.
#[must_use]
pub fn pair_json(pair: &PairReport) -> Value {
    json!({ "ports": pair.ports, "addresses": pair.addresses, "mtu": pair.mtu })
}
