//! The two ways to use a bare ring: a callback per request, and blocking fibers.

use super::{Client, MASK, Object, Ring, SLOTS, Trustee, add};
use crate::machine::{Padded, pinned};
use crate::measure::{METER, Sample, Setting};
use crate::random::Picker;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// 32 KiB, as Gossamer's fibers have.
const STACK: usize = 32 * 1024;

/// Where the objects of a worker begin.
#[derive(Clone, Copy)]
struct Objects(*mut Object);

// SAFETY: only the worker that holds them follows the pointer (invariant 2 of the module).
unsafe impl Send for Objects {}

/// One worker: client of one ring, trustee of the other.
struct Worker {
    me: usize,
    client: Client,
    trustee: Trustee,
    objects: [Objects; 2],
}

impl Worker {
    /// The object to ask next, and whether it is here.
    #[inline(always)]
    fn pick(&self, picker: &mut Picker) -> (*mut Object, bool) {
        let (worker, place) = picker.pick();
        (self.objects[worker].0.wrapping_add(place), worker == self.me)
    }
}

fn workers(setting: &Setting, body: fn(&Setting, Worker)) -> Sample {
    let held = || -> Box<[Object]> { (0..Picker::held(setting)).map(|_| Padded(0)).collect() };
    let objects = [0, 1].map(|_| Objects(Box::leak(held()).as_mut_ptr()));
    let rings = [Ring::new(), Ring::new()];
    let setting = *setting;
    for me in 0..2 {
        let start = move |objects| Worker {
            me,
            client: Client::new(rings[me]),
            trustee: Trustee { ring: rings[1 - me], head: Cell::new(0) },
            objects,
        };
        pinned(me, move || body(&setting, start(objects)));
    }
    // The workers are not waited for: one that stops first would leave the other's fibers suspended.
    METER.watch(&setting, 2)
}

/// A window of requests with a callback each (at most as many as the ring has slots).
pub fn callbacks(setting: &Setting) -> Sample {
    workers(setting, |setting, worker| {
        let window = setting.parallel.min(SLOTS) as u64;
        let mut picker = Picker::new(setting, worker.me, worker.me);
        let mut callbacks = vec![Callback::new(|_| ()); SLOTS];
        let sum = Cell::new(0u64);
        // The environment of a callback: what a user's closure would own.
        let sum: &'static Cell<u64> = Box::leak(Box::new(sum));
        let done: &'static Cell<u64> = Box::leak(Box::new(Cell::new(0)));
        let count = move |value: u64| {
            sum.set(sum.get().wrapping_add(value));
            done.set(done.get() + 1);
        };
        while !METER.stopped() {
            worker.trustee.serve();
            worker.client.take(|number| {
                callbacks[(number & MASK) as usize].call(worker.client.response(number));
            });
            while worker.client.in_flight() < window {
                let (object, here) = worker.pick(&mut picker);
                if here {
                    // SAFETY: the object is this worker's (2).
                    count(unsafe { add(object, 1) });
                    continue;
                }
                let number = worker.client.push(object);
                callbacks[(number & MASK) as usize] = Callback::new(count);
            }
            worker.client.publish();
            METER.add(worker.me, done.replace(0));
        }
        black_box(sum.get());
    })
}

/// A closure in place, without an allocation.
#[derive(Clone, Copy)]
struct Callback {
    call: unsafe fn(*const Environment, u64),
    environment: Environment,
}

type Environment = [MaybeUninit<usize>; 3];

impl Callback {
    #[inline(always)]
    fn new<F: Fn(u64) + Copy + 'static>(function: F) -> Self {
        const { assert!(size_of::<F>() <= size_of::<Environment>() && align_of::<F>() <= align_of::<usize>()) };
        unsafe fn call<F: Fn(u64)>(environment: *const Environment, value: u64) {
            // SAFETY: `new` wrote an F there, and F is Copy, so it may be called where it lies.
            let function = unsafe { &*environment.cast::<F>() };
            function(value);
        }
        let mut environment: Environment = [MaybeUninit::uninit(); 3];
        // SAFETY: F fits, by the assertion above.
        unsafe { environment.as_mut_ptr().cast::<F>().write(function) };
        Callback { call: call::<F>, environment }
    }

    #[inline(always)]
    fn call(&self, value: u64) {
        // SAFETY: `call` and `environment` were made together for one F.
        unsafe { (self.call)(&raw const self.environment, value) }
    }
}

/// What the fibers of a worker share.
struct Shared {
    worker: Worker,
    waiting: [Cell<u32>; SLOTS],
    full: RefCell<VecDeque<u32>>,
}

/// As many fibers per worker as the setting has requests in parallel, each blocking on its own request.
pub fn fibers(setting: &Setting) -> Sample {
    workers(setting, |setting, worker| {
        let waiting = std::array::from_fn(|_| Cell::new(0));
        let shared: &'static Shared =
            Box::leak(Box::new(Shared { worker, waiting, full: RefCell::default() }));
        let spawn = |number| {
            let mut fiber = Coroutine::with_stack(stack(), {
                let picker = Picker::new(setting, number, shared.worker.me);
                move |yielder: &Yielder<(), ()>, ()| body(shared, number as u32, yielder, picker)
            });
            fiber.resume(());
            fiber
        };
        let mut fibers: Vec<_> = (0..setting.parallel).map(spawn).collect();
        // Nothing may drop a suspended fiber: it would unwind through the requests in flight.
        let fibers: &mut Vec<Coroutine<(), (), ()>> = Box::leak(Box::new(std::mem::take(&mut fibers)));
        while !METER.stopped() {
            shared.worker.trustee.serve();
            shared.worker.client.take(|number| {
                let fiber = shared.waiting[(number & MASK) as usize].get();
                fibers[fiber as usize].resume(());
            });
            while !shared.worker.client.is_full()
                && let Some(fiber) = { shared.full.borrow_mut().pop_front() }
            {
                fibers[fiber as usize].resume(());
            }
            shared.worker.client.publish();
        }
    })
}

fn body(shared: &'static Shared, me: u32, yielder: &Yielder<(), ()>, mut picker: Picker) {
    let worker = &shared.worker;
    loop {
        let (object, here) = worker.pick(&mut picker);
        if here {
            // SAFETY: the object is this worker's (2).
            black_box(unsafe { add(object, 1) });
        } else {
            while worker.client.is_full() {
                shared.full.borrow_mut().push_back(me);
                yielder.suspend(());
            }
            let number = worker.client.push(object);
            shared.waiting[(number & MASK) as usize].set(me);
            yielder.suspend(());
            black_box(worker.client.response(number));
        }
        METER.add(worker.me, 1);
    }
}

fn stack() -> DefaultStack {
    match DefaultStack::new(STACK) {
        Ok(stack) => stack,
        Err(error) => panic!("no stack for a fiber: {error}"),
    }
}
