//! Blocks handed over a channel, with no window: what moving ownership costs. And all of it allocated at once.

use super::{AHEAD, NUMBERS, Sink, Source, on_two_threads};
use crate::measure::{Sample, Setting};
use std::sync::mpsc;

/// Blocks of a stream that is allocated as a whole, as far as the memory of a machine goes.
const WHOLE: usize = 128;

/// Blocks go to the consumer and come back.
pub fn channel(setting: &Setting) -> Sample {
    let (full, filled) = mpsc::sync_channel::<Vec<u64>>(AHEAD);
    let (empty, emptied) = mpsc::sync_channel::<Vec<u64>>(AHEAD + 2);
    (0..AHEAD + 1).for_each(|_| drop(empty.send(vec![0; NUMBERS])));
    let produce = move || {
        let mut source = Source::default();
        while let Ok(mut block) = emptied.recv() {
            source.fill(&mut block);
            if full.send(block).is_err() {
                return;
            }
        }
    };
    on_two_threads(setting, produce, move || {
        let mut sink = Sink::default();
        while sink.goes_on() {
            let Ok(block) = filled.recv() else { panic!("the producer is gone") };
            sink.take(&block);
            let _over = empty.send(block);
        }
    })
}

/// All memory of a stream is allocated, filled, and handed over at once; then that of the next.
pub fn malloc(setting: &Setting) -> Sample {
    let (full, filled) = mpsc::sync_channel::<Vec<u64>>(0);
    let produce = move || {
        let mut source = Source::default();
        loop {
            let mut all = Vec::with_capacity(WHOLE * NUMBERS);
            all.extend(source.0..source.0 + (WHOLE * NUMBERS) as u64);
            source.0 += all.len() as u64;
            if full.send(all).is_err() {
                return;
            }
        }
    };
    on_two_threads(setting, produce, move || {
        let mut sink = Sink::default();
        while sink.goes_on() {
            let Ok(all) = filled.recv() else { panic!("the producer is gone") };
            all.chunks(NUMBERS).take_while(|_| sink_goes_on()).for_each(|block| sink.take(block));
        }
    })
}

fn sink_goes_on() -> bool {
    !crate::measure::METER.stopped()
}
