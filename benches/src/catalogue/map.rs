//! A hash map of a million keys.

use super::{Against, Group, Table, Unit, row};
use crate::contenders::{gossamer, maps};
use crate::measure::Setting;

pub(super) fn group() -> Group {
    let table = |skewed: bool, writes: u64| {
        let setting = Setting { skewed, writes, parallel: 64, ..Setting::PLAIN };
        let (short, keys) = if skewed { ("zipf", "Zipf keys (0.99)") } else { ("uniform", "uniform keys") };
        Table {
            name: format!("map-{short}-{writes}"),
            title: format!("{keys}, {writes} % writes"),
            unit: Unit::Rate,
            against: Against::First,
            rows: vec![
                row("gossamer Sharded, callbacks", gossamer::map_callbacks, setting),
                row("gossamer Sharded, 64 blocking fibers per worker", gossamer::map_blocking, setting),
                row("64 shards of `Mutex<HashMap>`", maps::mutex_shards, setting),
                row("dashmap", maps::dashmap, setting),
                row("scc", maps::scc, setting),
                row("papaya, pinned per 64 operations", maps::papaya, setting),
            ],
        }
    };
    Group {
        name: "map",
        about: "1,048,576 keys of u64 with u64 values, two pinned threads, foldhash everywhere. Reads copy the \
                value, writes overwrite it. `gossamer is` how many times as fast as the row.",
        tables: vec![table(false, 5), table(false, 50), table(true, 5), table(true, 50)],
    }
}
