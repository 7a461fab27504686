//! HTTP servers on one machine with their client.

use super::{Against, Group, Table, Unit, row};
use crate::contenders::http;
use crate::measure::Setting;

pub(super) fn group() -> Group {
    Group {
        name: "http",
        about: "A server of two threads in a process of its own, `GET` of 13 bytes with the crate khttp on both sides, and one client of \
                one thread, which asks by all its connections and then hears from all. Processor time is that of the server.",
        tables: vec![
            table("http-1", "1 connection", 1, 1),
            table("http-50", "50 connections", 50, 1),
            table("http-50-16", "50 connections, 16 requests at a time", 50, 16),
        ],
    }
}

fn table(name: &str, title: &str, connections: usize, at_once: usize) -> Table {
    let setting = Setting { parallel: connections, objects: at_once, ..Setting::PLAIN };
    Table {
        name: name.into(),
        title: title.into(),
        unit: Unit::Rate,
        against: Against::First,
        rows: vec![row("gossamer", http::gossamer, setting), row("tokio", http::tokio, setting)],
    }
}
