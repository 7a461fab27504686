//! Kameo's actors, on the same tokio runtime.

use super::{Add, Objects, tokio_runtime};
use crate::measure::{METER, Sample, Setting};
use crate::random::Picker;
use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::message::{Context, Message};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::hint::black_box;

impl Actor for Objects {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(objects: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(objects)
    }
}

impl Message<Add> for Objects {
    type Reply = u64;

    async fn handle(&mut self, request: Add, _: &mut Context<Self, u64>) -> u64 {
        self.serve(request)
    }
}

/// Two clients, each with a window of asks in flight, awaited in order.
pub fn windowed(setting: &Setting) -> Sample {
    run(setting, 2, |actors, mut picker, window| async move {
        let mut in_flight = VecDeque::with_capacity(window);
        loop {
            let (worker, place) = picker.pick();
            in_flight.push_back(actors[worker].ask(Add { place, amount: 1 }).enqueue().await);
            if in_flight.len() == window
                && let Some(Ok(answer)) = in_flight.pop_front()
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
            let (worker, place) = picker.pick();
            black_box(actors[worker].ask(Add { place, amount: 1 }).await.ok());
        }
    })
}

fn run<F: Future<Output = ()> + Send + 'static>(
    setting: &Setting,
    clients: usize,
    client: impl Fn(Vec<ActorRef<Objects>>, Picker, usize) -> F,
) -> Sample {
    let runtime = tokio_runtime(setting.workers);
    let guard = runtime.enter();
    let mailbox = || kameo::mailbox::bounded(1024);
    let actors: Vec<_> =
        (0..2).map(|line| Objects::spawn_with_mailbox(Objects::new(setting, line), mailbox())).collect();
    for number in 0..clients {
        let picker = Picker::new(setting, number, number % 2);
        runtime.spawn(client(actors.clone(), picker, setting.parallel));
    }
    let sample = METER.watch(setting, 2);
    drop(guard);
    runtime.shutdown_background();
    sample
}
