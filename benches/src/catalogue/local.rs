//! What one worker pays: a local trust, clone and drop, spawn and join.

use super::{Against, Aim, Group, Row, Table, Unit, row};
use crate::contenders::{gossamer, plain};
use crate::measure::Setting;

pub(super) fn group() -> Group {
    let one = Setting { workers: 1, ..Setting::PLAIN };
    let two = Setting::PLAIN;
    let tables = vec![
        table(
            "local-apply",
            "a request to a property on the client's own worker, over a direct call",
            Against::Over,
            vec![
                row("gossamer apply", gossamer::local_apply, one).aim(Aim::AtMost(5.0)),
                row("gossamer apply_with", gossamer::local_apply_with, one).aim(Aim::AtMost(5.0)),
                row("gossamer apply_with_then (by the lane to itself)", gossamer::local_apply_with_then, one),
                row("direct call, not inlined", plain::direct_call, one),
            ],
        ),
        table(
            "clone-drop",
            "clone and drop of a handle",
            Against::First,
            vec![
                row("gossamer, a trust on its trustee's worker", gossamer::clone_here, two),
                row("gossamer, a trust on another worker", gossamer::clone_elsewhere, two),
                row("Arc, alone", plain::arc_alone, one),
                row("Arc, while another thread does the same", plain::arc_contended, two),
            ],
        ),
        table(
            "spawn-each",
            "spawn and join, one by one",
            Against::First,
            vec![
                row("gossamer spawn_on this worker", gossamer::spawn_here, two).aim(Aim::Nanoseconds(300.0)),
                row("gossamer spawn, spread over two workers", gossamer::spawn_anywhere, two),
                row("tokio spawn + await, one thread", plain::tokio_each, one),
                row("tokio spawn + await, two workers", plain::tokio_each, two),
                row("std::thread", plain::thread_each, two),
            ],
        ),
        table(
            "spawn-bulk",
            "spawn 1000, then join all; per fiber",
            Against::First,
            vec![
                row("gossamer spawn_on this worker", gossamer::spawn_bulk_here, two)
                    .aim(Aim::Nanoseconds(100.0)),
                row("gossamer spawn, spread over two workers", gossamer::spawn_bulk_anywhere, two)
                    .aim(Aim::Nanoseconds(100.0)),
                row("tokio spawn + await, one thread", plain::tokio_bulk, one),
                row("tokio spawn + await, two workers", plain::tokio_bulk, two),
                row("std::thread", plain::thread_bulk, two),
            ],
        ),
    ];
    Group {
        name: "local",
        about: "Nanoseconds per operation of one thread or fiber on a pinned worker. `gossamer is` how many \
                times as fast as the row the first row is; `over` is what the row costs more than a direct call.",
        tables,
    }
}

fn table(name: &str, title: &str, against: Against, rows: Vec<Row>) -> Table {
    Table { name: name.into(), title: title.into(), unit: Unit::Time, against, rows }
}
