//! Fetch-and-add between two workers.

use super::{Against, Aim, Group, Row, Table, Unit, row};
use crate::contenders::{actors, gossamer, locks, ring};
use crate::measure::{Asked, Setting};

pub(super) fn group() -> Group {
    let one = |parallel| Setting { parallel, ..Setting::PLAIN };
    let many = |parallel| Setting { parallel, objects: 4096, asked: Asked::Any, ..Setting::PLAIN };
    let tables = vec![
        callbacks("window-64", one(64)),
        callbacks("window-1024", one(1024)),
        callbacks("window-1024-random", many(1024)),
        blocking("fibers-1", one(1)),
        blocking("fibers-64", one(64)),
        blocking("fibers-1024", one(1024)),
        blocking("fibers-64-random", many(64)),
    ];
    Group {
        name: "delegation",
        about: "Fetch-and-add between two pinned workers, each client and trustee (or actor) at once. \
                `One object`: each worker asks the one object of the other; locks have one object for both. \
                `4096 objects`: half at each worker, picked at random, so half of the requests are local. \
                `gossamer is` how many times as fast as the row.",
        tables,
    }
}

fn objects(setting: Setting) -> &'static str {
    if setting.objects == 1 { "one object" } else { "4096 objects at random" }
}

fn callbacks(name: &str, setting: Setting) -> Table {
    let mut rows = vec![row("gossamer apply_with_then", gossamer::callbacks, setting)];
    if setting.asked == Asked::Others {
        let shared = Setting { asked: Asked::Shared, ..setting };
        rows.push(row("gossamer, one object for both workers", gossamer::callbacks, shared));
    }
    rows.extend([
        row("bare ring (at most 128 in flight)", ring::callbacks, setting).aim(Aim::AtLeast(1.0 / 1.3)),
        row("crossbeam-channel actor", actors::crossbeam::windowed, setting).aim(Aim::AtLeast(5.0)),
        row("tokio mpsc + oneshot actor", actors::tokio::windowed, setting).aim(Aim::AtLeast(5.0)),
        row("kameo actor", actors::kameo::windowed, setting).aim(Aim::AtLeast(5.0)),
        row("actix actor", actors::actix::windowed, setting).aim(Aim::AtLeast(5.0)),
    ]);
    rows.extend(locked(setting));
    table(name, format!("callbacks, {} in flight per worker, {}", setting.parallel, objects(setting)), rows)
}

fn blocking(name: &str, setting: Setting) -> Table {
    let aim = if setting.parallel == 64 { Aim::AtLeast(2.0) } else { Aim::None };
    let mut rows = vec![row("gossamer apply_with", gossamer::blocking, setting)];
    if setting.asked == Asked::Others {
        let shared = Setting { asked: Asked::Shared, ..setting };
        rows.push(row("gossamer, one object for both workers", gossamer::blocking, shared));
    }
    rows.push(row("bare ring", ring::fibers, setting).aim(Aim::AtLeast(1.0 / 1.3)));
    if setting.parallel <= 64 {
        let blocking = actors::crossbeam::blocking;
        rows.push(row("crossbeam-channel actor, a thread per client", blocking, setting).aim(aim));
    }
    rows.extend([
        row("tokio mpsc + oneshot actor", actors::tokio::blocking, setting).aim(aim),
        row("kameo actor", actors::kameo::blocking, setting).aim(aim),
        row("actix actor", actors::actix::blocking, setting).aim(aim),
    ]);
    rows.extend(locked(setting));
    let each = if setting.parallel == 1 { "fiber or task" } else { "fibers or tasks" };
    table(name, format!("blocking, {} {each} per worker, {}", setting.parallel, objects(setting)), rows)
}

fn locked(setting: Setting) -> [Row; 4] {
    [
        row("std Mutex", locks::std_mutex, setting),
        row("parking_lot Mutex", locks::parking_lot_mutex, setting),
        row("spin lock", locks::spin_lock, setting),
        row("atomic fetch_add", locks::atomic, setting),
    ]
}

fn table(name: &str, title: String, rows: Vec<Row>) -> Table {
    Table { name: name.into(), title, unit: Unit::Rate, against: Against::First, rows }
}
