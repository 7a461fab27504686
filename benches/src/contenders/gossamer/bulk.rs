//! Arguments far larger than a slot, to a trustee of another node.

use super::Travelling;
use super::nodes::{object, watched};
use crate::measure::{METER, Sample, Setting};
use gossamer::{Trust, Trustee, spawn_on_with};

/// As many fibers as the setting says, each blocking on one request at a time whose argument is a copy of its own.
pub fn node_bulk(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let object = object();
        let start = |_| spawn_on_with(Trustee::here(), fiber, (Travelling(*setting), object.clone()));
        let started: Vec<_> = (0..setting.parallel).map(start).collect();
        let asked: u64 = started.into_iter().map(|fiber| fiber.join()).sum();
        assert_eq!(object.apply(const { |value| *value }), asked, "bytes were lost");
    })
}

fn take(value: &mut u64, bytes: Vec<u8>) -> u64 {
    *value += bytes.len() as u64;
    bytes.last().copied().unwrap_or(0).into()
}

fn fiber((Travelling(setting), object): (Travelling, Trust<u64>)) -> u64 {
    let (data, mut asked) = (vec![7; setting.bytes], 0);
    while !METER.stopped() {
        assert_eq!(object.apply_with(take, data.clone()), 7);
        METER.add(0, 1);
        asked += data.len() as u64;
    }
    asked
}
