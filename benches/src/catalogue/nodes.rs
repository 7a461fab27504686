//! Fetch-and-add between two processes of this machine.

use super::{Against, Aim, Group, Row, Table, Unit, row};
use crate::contenders::{gossamer, memory, sockets, tools};
use crate::measure::{Measure, Setting, Way};

/// Three times what eRPC reaches between two processes with 64 requests of 32 bytes in flight, 10 million a second.
const THRICE_ERPC: Aim = Aim::Nanoseconds(1e3 / 30.0);

pub(super) fn group() -> Group {
    let mut tables = Vec::new();
    for way in [Way::Memory, Way::Tcp] {
        tables.push(table(way, 1, true));
        for parallel in [64, 1024] {
            tables.extend([table(way, parallel, true), table(way, parallel, false)]);
        }
    }
    tables.extend([bulk(Way::Memory), bulk(Way::Tcp)]);
    Group {
        name: "nodes",
        about: "Fetch-and-add by one client of an object of one trustee, each in a process of its own with one worker, \
                pinned. A request takes the bytes given, its answer 8. `CPU` is of both processes. `gossamer is` how many \
                times as fast as the row: gossamer with the same bytes. The bare connection carries requests and answers \
                alone, without frames. Messages of 1 MiB go one way, four under way at once; gossamer's caller makes a copy of \
                its own for each, which the trustee gets as its own.",
        tables,
    }
}

fn table(way: Way, parallel: usize, blocks: bool) -> Table {
    let (short, long) = match way {
        Way::Memory => ("shm", "shared memory"),
        _ => ("tcp", "TCP over loopback"),
    };
    let (name, how) = match (parallel, blocks) {
        (1, _) => (format!("{short}-apply"), "one blocking request at a time".to_owned()),
        (_, true) => (format!("{short}-fibers-{parallel}"), format!("{parallel} blocking fibers")),
        _ => (format!("{short}-window-{parallel}"), format!("callbacks, {parallel} in flight")),
    };
    let rows = [8, 32, 256].into_iter().flat_map(|bytes| {
        let setting = Setting { way, parallel, bytes, ..Setting::PLAIN };
        rows(setting, if blocks { gossamer::node_blocking } else { gossamer::node_callbacks })
    });
    let title = format!("two processes over {long}, {how}");
    Table { name, title, unit: Unit::Rate, against: Against::First, rows: rows.collect() }
}

fn rows(setting: Setting, gossamer: Measure) -> Vec<Row> {
    let sized = |name: &str, measure| row(format!("{name}, {} bytes", setting.bytes), measure, setting);
    let first = sized("gossamer", gossamer).leads();
    let mut installed = Vec::new();
    if setting.bytes == 32 {
        installed.push(match setting.parallel {
            1 => sized("UCX active messages", tools::ucx_round_trips).needs("ucx_perftest"),
            _ => sized("UCX active messages, one way, no answers", tools::ucx_one_way).needs("ucx_perftest"),
        });
        installed.push(sized("Open MPI", tools::mpi).needs("mpicc"));
    }
    if setting.way == Way::Tcp {
        let spinning = sized("bare connection, spinning", sockets::spinning).aim(Aim::PerCpuAtLeast(0.8));
        let blocking = sized("bare connection, blocking in epoll", sockets::blocking);
        return [vec![first, spinning, blocking], installed, calls(setting)].concat();
    }
    let first = if (setting.parallel, setting.bytes) == (64, 32) { first.aim(THRICE_ERPC) } else { first };
    let inside = Row {
        setting: Setting { way: Way::Process, ..setting },
        ..sized("gossamer, two workers of one process", gossamer)
    };
    [vec![first, inside.aim(Aim::AtLeast(1.0 / 1.5))], installed].concat()
}

/// Remote procedure calls, if there are any in this build.
#[cfg(feature = "rpc")]
fn calls(setting: Setting) -> Vec<Row> {
    use crate::contenders::rpc;
    if setting.bytes != 32 {
        return Vec::new();
    }
    let row =
        |name: &str, measure| row(format!("{name}, 32 bytes"), measure, setting).aim(Aim::AtLeast(10.0));
    vec![row("tarpc", rpc::tarpc), row("tonic, unary", rpc::tonic)]
}

#[cfg(not(feature = "rpc"))]
fn calls(_: Setting) -> Vec<Row> {
    Vec::new()
}

fn bulk(way: Way) -> Table {
    let setting = Setting { way, parallel: 4, bytes: 1 << 20, ..Setting::PLAIN };
    let first = row("gossamer", gossamer::node_bulk, setting);
    let aim = Aim::AtLeast(0.9);
    let (name, over, others) = match way {
        Way::Memory => (
            "shm-bulk",
            "shared memory",
            vec![
                row("memcpy, one thread", memory::memcpy, setting).aim(aim),
                row("memcpy into shared memory and out of it", memory::two_copies, setting).aim(aim),
            ],
        ),
        _ => {
            ("tcp-bulk", "TCP over loopback", vec![row("plain connection", sockets::bulk, setting).aim(aim)])
        }
    };
    Table {
        name: name.into(),
        title: format!("two processes over {over}, arguments of 1 MiB"),
        unit: Unit::Bytes(setting.bytes),
        against: Against::First,
        rows: [vec![first], others].concat(),
    }
}
