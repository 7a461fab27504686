//! The cost of a request as things grow in number.

use super::{Against, Group, Row, Table, Unit, row};
use crate::contenders::gossamer;
use crate::machine;
use crate::measure::{Asked, Measure, Setting};

pub(super) fn group() -> Group {
    let requests = Setting { parallel: 1024, ..Setting::PLAIN };
    let fibers = Setting { parallel: 64, ..Setting::PLAIN };
    let tables = vec![
        table(
            "properties",
            "callbacks to one of many properties of the other worker, at random",
            [1, 16, 256, 4096, 65_536, 1 << 20]
                .map(|objects| (amount(objects, "property", "properties"), Setting { objects, ..requests })),
            gossamer::callbacks,
        ),
        table(
            "trusts",
            "callbacks to the one property of the other worker, through one of many trusts, at random",
            [1, 16, 256, 4096, 65_536, 1 << 20]
                .map(|objects| (amount(objects, "trust", "trusts"), Setting { objects, ..requests })),
            gossamer::many_trusts,
        ),
        table(
            "fibers",
            "blocking fibers per worker",
            [1, 10, 100, 1000, 10_000]
                .map(|parallel| (amount(parallel, "fiber", "fibers"), Setting { parallel, ..fibers })),
            gossamer::blocking,
        ),
        table(
            "workers",
            "workers, each asking the others' properties by 64 blocking fibers",
            [1, 2, 3, 4, 6, 8].map(|workers| {
                (oversubscribed(workers), Setting { workers, asked: Asked::Others, ..fibers })
            }),
            gossamer::blocking,
        ),
    ];
    Group {
        name: "growth",
        about: "Nanoseconds of the whole machine per request (two workers serve at once). `times the first` is \
                how many times as long a request takes as in the first row. One worker asks its own property.",
        tables,
    }
}

fn amount(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn oversubscribed(workers: usize) -> String {
    let processors = machine::processors().len();
    let note = if workers > processors { format!(" on {processors} processors") } else { String::new() };
    amount(workers, "worker", "workers") + &note
}

fn table<const N: usize>(
    name: &str,
    title: &str,
    settings: [(String, Setting); N],
    measure: Measure,
) -> Table {
    let rows: Vec<Row> = settings.into_iter().map(|(name, setting)| row(name, measure, setting)).collect();
    Table { name: name.into(), title: title.into(), unit: Unit::Time, against: Against::Growth, rows }
}
