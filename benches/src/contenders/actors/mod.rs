//! Fetch-and-add by actors: each worker (or the runtime) has one actor that holds its share of the objects.

pub mod actix;
pub mod crossbeam;
pub mod kameo;
pub mod tokio;

use crate::measure::Setting;
use crate::random::Picker;

/// What a client asks an actor to do: add to one of its objects, and return the value before.
#[derive(Clone, Copy, Debug)]
pub struct Add {
    /// Which of the actor's objects.
    pub place: usize,
    /// How much.
    pub amount: u64,
}

/// The objects of one actor.
pub struct Objects {
    values: Vec<u64>,
    line: usize,
}

impl Objects {
    /// The objects of worker `line`; its requests are counted on that line of the meter.
    fn new(setting: &Setting, line: usize) -> Self {
        Objects { values: vec![0; Picker::held(setting)], line }
    }

    /// Serves one request.
    #[inline(always)]
    fn serve(&mut self, request: Add) -> u64 {
        let value = &mut self.values[request.place];
        let before = *value;
        *value += request.amount;
        crate::measure::METER.add(self.line, 1);
        before
    }
}

/// A tokio runtime with pinned workers; a single worker means the runtime without threads of its own. Panics if the
/// kernel refuses threads.
#[must_use]
pub fn tokio_runtime(workers: usize) -> ::tokio::runtime::Runtime {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let _ = crate::machine::processors();
    let built = if workers == 1 {
        ::tokio::runtime::Builder::new_current_thread().build()
    } else {
        let next = AtomicUsize::new(0);
        ::tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .on_thread_start(move || crate::machine::pin(next.fetch_add(1, Ordering::Relaxed)))
            .build()
    };
    match built {
        Ok(runtime) => runtime,
        Err(error) => panic!("no tokio runtime: {error}"),
    }
}
