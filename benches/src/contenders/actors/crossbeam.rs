//! Actors over crossbeam channels, on threads of their own.

use super::{Add, Objects};
use crate::machine::pinned;
use crate::measure::{METER, Sample, Setting};
use crate::random::Picker;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::hint::black_box;

/// Each thread is both actor and client, and never blocks: it keeps a window of requests in flight, serves the requests
/// that it gets, and takes the answers, which come back on one channel per client.
pub fn windowed(setting: &Setting) -> Sample {
    type Request = (Add, Sender<u64>);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| unbounded::<Request>()).unzip();
    let setting = *setting;
    let start = |(me, inbox): (usize, Receiver<Request>)| {
        let outbox = senders.clone();
        pinned(me, move || pump(&setting, me, &inbox, &outbox))
    };
    let threads: Vec<_> = receivers.into_iter().enumerate().map(start).collect();
    let sample = METER.watch(&setting, 2);
    drop(threads); // the process ends; draining the channels would prove nothing
    sample
}

fn pump(
    setting: &Setting,
    me: usize,
    inbox: &Receiver<(Add, Sender<u64>)>,
    outbox: &[Sender<(Add, Sender<u64>)>],
) {
    let (answer, answers) = unbounded();
    let mut picker = Picker::new(setting, me, me);
    let mut objects = Objects::new(setting, me);
    let mut in_flight = 0;
    while !METER.stopped() {
        while in_flight < setting.parallel {
            let (worker, place) = picker.pick();
            let _ = outbox[worker].send((Add { place, amount: 1 }, answer.clone()));
            in_flight += 1;
        }
        while let Ok((request, answer)) = inbox.try_recv() {
            let _ = answer.send(objects.serve(request));
        }
        while let Ok(before) = answers.try_recv() {
            black_box(before);
            in_flight -= 1;
        }
    }
}

/// Two actor threads, and per worker as many client threads as the setting has requests in parallel, each
/// blocked on its own answer.
pub fn blocking(setting: &Setting) -> Sample {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| unbounded::<(Add, Sender<u64>)>()).unzip();
    let setting = *setting;
    for (me, inbox) in receivers.into_iter().enumerate() {
        pinned(me, move || {
            let mut objects = Objects::new(&setting, me);
            for (request, answer) in inbox {
                let _ = answer.send(objects.serve(request));
            }
        });
    }
    for client in 0..2 * setting.parallel {
        let senders = senders.clone();
        pinned(client, move || {
            let (answer, answers) = bounded(1);
            let mut picker = Picker::new(&setting, client, client % 2);
            while !METER.stopped() {
                let (worker, place) = picker.pick();
                let _ = senders[worker].send((Add { place, amount: 1 }, answer.clone()));
                black_box(answers.recv().ok());
            }
        });
    }
    METER.watch(&setting, 2)
}
