//! Memory streams: consecutive numbers from one end to the other, added up there.

use super::{Against, Aim, Group, Row, Table, Unit, row};
use crate::contenders::streams::{
    BLOCK, blocks, blocks_authenticated, blocks_encrypted, channel, iperf, iperf_zero_copy, malloc, pipe,
    pipe_between, plain, remapped, windows_by_signal, windows_by_userfault,
};
use crate::measure::{Setting, Way};

pub(super) fn group() -> Group {
    let process = table("stream-process", "two threads of one process", Way::Process, |setting| {
        vec![
            row("blocks over a channel, no window", channel, setting).aim(Aim::AtLeast(0.8)),
            row("the original Vortex's way: signals, and pages moved", remapped, setting)
                .aim(Aim::AtLeast(4.0)),
            row("a pipe", pipe, setting),
            row("all of it allocated, 256 MiB", malloc, setting),
        ]
    });
    let memory = table("stream-shm", "two processes of one machine", Way::Memory, |setting| {
        vec![row("a pipe", pipe_between, setting), row("plain connection", plain, setting)]
    });
    let tcp = |name: &str, title: &str, way, aim| {
        table(name, title, way, |setting| {
            vec![
                row("iperf3, no numbers", iperf, setting).aim(aim).needs("iperf3"),
                row("iperf3 -Z, no numbers", iperf_zero_copy, setting).needs("iperf3"),
                row("plain connection", plain, setting),
            ]
        })
    };
    let setting = Setting { way: Way::Tcp, bytes: BLOCK, ..Setting::PLAIN };
    let levels = Table {
        name: "stream-levels".into(),
        title: "two processes over TCP over loopback, by `Options::protection`".into(),
        unit: Unit::Bytes(BLOCK),
        against: Against::First,
        rows: vec![
            row("encrypted", blocks_encrypted, setting).leads(),
            row("authenticated", blocks_authenticated, setting),
            row("checked", blocks, setting).aim(Aim::AtLeast(0.6)),
        ],
    };
    Group {
        name: "streams",
        about: "One end writes consecutive 64-bit numbers, the other adds them up and checks them; each has a processor. Blocks of \
                2 MiB, six ahead. A row of `blocks` uses guards, the `windows` are raw pointers. TCP has the congestion control \
                `cubic` everywhere. iperf3 neither makes nor looks at what it sends.",
        tables: vec![
            process,
            memory,
            tcp("stream-tcp", "two processes over TCP over loopback", Way::Tcp, Aim::AtLeast(1.0)),
            levels,
            tcp("stream-gigabit", "two processes over a link of 1 Gbit/s", Way::Gigabit, Aim::AtLeast(0.986)),
        ],
    }
}

fn table(name: &str, title: &str, way: Way, others: impl Fn(Setting) -> Vec<Row>) -> Table {
    let setting = Setting { way, bytes: BLOCK, ..Setting::PLAIN };
    let ours = vec![
        row("gossamer, blocks", blocks, setting),
        row("gossamer, windows by userfaultfd", windows_by_userfault, setting),
        row("gossamer, windows by signals", windows_by_signal, setting).leads(),
    ];
    Table {
        name: name.into(),
        title: title.into(),
        unit: Unit::Bytes(BLOCK),
        against: Against::First,
        rows: [ours, others(setting)].concat(),
    }
}
