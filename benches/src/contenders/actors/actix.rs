//! Actix's actors, one per pinned arbiter, which also runs the clients of its worker.

use super::{Add, Objects};
use crate::measure::{METER, Sample, Setting};
use crate::random::Picker;
use actix::{Actor, Addr, Arbiter, Context, Handler, Message, System};
use std::collections::VecDeque;
use std::hint::black_box;

impl Actor for Objects {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(1024);
    }
}

impl Message for Add {
    type Result = u64;
}

impl Handler<Add> for Objects {
    type Result = u64;

    fn handle(&mut self, request: Add, _: &mut Context<Self>) -> u64 {
        self.serve(request)
    }
}

/// Two clients, each with a window of sends in flight, awaited in order.
pub fn windowed(setting: &Setting) -> Sample {
    run(setting, 1, |actors, mut picker, window| async move {
        let mut in_flight = VecDeque::with_capacity(window);
        loop {
            let (worker, place) = picker.pick();
            in_flight.push_back(actors[worker].send(Add { place, amount: 1 }));
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
    run(setting, setting.parallel, |actors, mut picker, _| async move {
        loop {
            let (worker, place) = picker.pick();
            black_box(actors[worker].send(Add { place, amount: 1 }).await.ok());
        }
    })
}

fn run<F: Future<Output = ()> + Send + 'static>(
    setting: &Setting,
    clients: usize,
    client: impl Fn(Vec<Addr<Objects>>, Picker, usize) -> F,
) -> Sample {
    let _ = crate::machine::processors();
    let system = System::new();
    let setting = *setting;
    let sample = system.block_on(async move {
        let arbiters: Vec<_> = (0..2).map(|_| Arbiter::new()).collect();
        let start = |(line, arbiter): (usize, &Arbiter)| {
            arbiter.spawn_fn(move || crate::machine::pin(line));
            Objects::start_in_arbiter(&arbiter.handle(), move |_| Objects::new(&setting, line))
        };
        let actors: Vec<_> = arbiters.iter().enumerate().map(start).collect();
        for number in 0..2 * clients {
            let picker = Picker::new(&setting, number, number % 2);
            arbiters[number % 2].spawn(client(actors.clone(), picker, setting.parallel));
        }
        METER.watch(&setting, 2)
    });
    System::current().stop();
    sample
}
