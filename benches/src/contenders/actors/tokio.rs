//! Actors as tokio tasks: an mpsc channel for requests, a oneshot for each answer.

use super::{Add, Objects, tokio_runtime};
use crate::measure::{METER, Sample, Setting};
use crate::random::Picker;
use std::collections::VecDeque;
use std::hint::black_box;
use tokio::sync::{mpsc, oneshot};

type Mailbox = mpsc::Sender<(Add, oneshot::Sender<u64>)>;

fn actors(setting: &Setting) -> Vec<Mailbox> {
    let start = |line| {
        let (mailbox, mut requests) = mpsc::channel::<(Add, oneshot::Sender<u64>)>(1024);
        let mut objects = Objects::new(setting, line);
        tokio::spawn(async move {
            while let Some((request, answer)) = requests.recv().await {
                let _ = answer.send(objects.serve(request));
            }
        });
        mailbox
    };
    (0..2).map(start).collect()
}

async fn ask(actors: &[Mailbox], picker: &mut Picker) -> oneshot::Receiver<u64> {
    let (sender, answer) = oneshot::channel();
    let (worker, place) = picker.pick();
    let _ = actors[worker].send((Add { place, amount: 1 }, sender)).await;
    answer
}

/// Two clients, each with a window of requests in flight, awaited in order.
pub fn windowed(setting: &Setting) -> Sample {
    run(setting, 2, |actors, mut picker, window| async move {
        let mut in_flight = VecDeque::with_capacity(window);
        loop {
            in_flight.push_back(ask(&actors, &mut picker).await);
            if in_flight.len() == window
                && let Some(answer) = in_flight.pop_front()
            {
                black_box(answer.await.ok());
            }
        }
    })
}

/// Per worker as many client tasks as the setting has requests in parallel, each awaiting its own answer.
pub fn blocking(setting: &Setting) -> Sample {
    run(setting, 2 * setting.parallel, |actors, mut picker, _| async move {
        loop {
            black_box(ask(&actors, &mut picker).await.await.ok());
        }
    })
}

fn run<F: Future<Output = ()> + Send + 'static>(
    setting: &Setting,
    clients: usize,
    client: impl Fn(Vec<Mailbox>, Picker, usize) -> F,
) -> Sample {
    let runtime = tokio_runtime(setting.workers);
    let guard = runtime.enter();
    let actors = actors(setting);
    for number in 0..clients {
        let picker = Picker::new(setting, number, number % 2);
        runtime.spawn(client(actors.clone(), picker, setting.parallel));
    }
    let sample = METER.watch(setting, 2);
    drop(guard);
    runtime.shutdown_background();
    sample
}
