//! What all nodes of a rack do together, as their number grows.

use super::{Against, Aim, Group, Row, Table, Unit, row};
use crate::contenders::gossamer;
use crate::measure::{Measure, Setting};

pub(super) fn group() -> Group {
    let four = Setting { workers: 4, ..Setting::PLAIN };
    let spawn = Table {
        name: "rack-spawn".into(),
        title: "fibers on four nodes, started and joined; per fiber".into(),
        unit: Unit::Time,
        against: Against::First,
        rows: vec![
            row("gossamer spawn_many_with", gossamer::spawn_many, four),
            row("gossamer spawn_with, one by one", gossamer::spawn_one_by_one, four),
        ],
    };
    let settle = Table {
        name: "settle".into(),
        title: "wait_all; per call".into(),
        unit: Unit::Time,
        against: Against::Growth,
        rows: vec![
            row("two workers, nothing to do", gossamer::settle_idle, Setting::PLAIN)
                .aim(Aim::Nanoseconds(5_000.0)),
            row("two workers, a request to each", gossamer::settle_requests, Setting::PLAIN)
                .aim(Aim::Nanoseconds(5_000.0)),
            row("two nodes, nothing to do", gossamer::settle_idle_nodes, Setting::PLAIN)
                .aim(Aim::Nanoseconds(15_000.0)),
            row("two nodes, a request to each", gossamer::settle_requests_on_nodes, Setting::PLAIN)
                .aim(Aim::Nanoseconds(15_000.0)),
        ],
    };
    let team = Table {
        name: "team".into(),
        title: "collectives of workers; per round of all members".into(),
        unit: Unit::Time,
        against: Against::Growth,
        rows: vec![
            row("barrier, two workers", gossamer::team_barrier, Setting::PLAIN)
                .aim(Aim::Nanoseconds(1_000.0)),
            row("all_reduce, two workers", gossamer::team_all_reduce, Setting::PLAIN)
                .aim(Aim::Nanoseconds(1_000.0)),
            row("barrier, two nodes", gossamer::team_barrier_on_nodes, Setting::PLAIN)
                .aim(Aim::Nanoseconds(5_000.0)),
            row("all_reduce, two nodes", gossamer::team_all_reduce_on_nodes, Setting::PLAIN)
                .aim(Aim::Nanoseconds(5_000.0)),
        ],
    };
    Group {
        name: "rack",
        about: "Nodes with one worker each, all in one process, over shared memory, on the processors there are: so many nodes \
                take turns, and a round of more nodes than processors costs their turns. `two workers` are those of one node.",
        tables: vec![
            spawn,
            settle,
            team,
            growing("rack-barrier", "barriers; per round of all nodes", gossamer::barrier),
            growing(
                "rack-all-reduce",
                "all_reduce of a number; per round of all nodes",
                gossamer::all_reduce,
            ),
        ],
    }
}

fn growing(name: &str, title: &str, measure: Measure) -> Table {
    let rows: Vec<Row> = [2, 4, 8, 16, 32, 64]
        .map(|nodes| row(format!("{nodes} nodes"), measure, Setting { workers: nodes, ..Setting::PLAIN }))
        .into();
    Table { name: name.into(), title: title.into(), unit: Unit::Time, against: Against::Growth, rows }
}
