//! The lane protocol under the model checker: every interleaving and every reordering that the orderings allow, for a
//! client and a server with two slots (run by `RUSTFLAGS="--cfg loom" cargo test -p gossamer --lib --release`).

use crate::fabric::SlotMemory;
use crate::lane::client::Client;
use crate::lane::error::DelegationError;
use crate::lane::operation::Delegated;
use crate::lane::property::Properties;
use crate::lane::server::Server;
use loom::thread;
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// What the trustee does: logs its argument and answers with ten times it.
fn log(property: &mut Vec<u32>, argument: u32) -> u32 {
    property.push(argument);
    argument * 10
}

/// Serves so many batches, and returns what was logged.
fn trustee(
    requests: Arc<SlotMemory>,
    responses: Arc<SlotMemory>,
    batches: u32,
) -> thread::JoinHandle<Vec<u32>> {
    let mut server = Server::new(requests, responses);
    thread::spawn(move || {
        let properties = Properties::new();
        let index = properties.insert(Vec::<u32>::new());
        assert_eq!(index, 1, "the client counts on it");
        let mut served = 0;
        while served < batches {
            if server.serve(&properties, 0) {
                served += 1;
            } else {
                thread::yield_now();
            }
        }
        let log = properties.get(index).unwrap().cast::<Vec<u32>>();
        // SAFETY: the property is of this type, and nothing else uses it any more.
        unsafe { std::mem::take(&mut *log) }
    })
}

/// Sends `batches` batches of one request each, as far ahead of the responses as slots allow.
fn exchange(batches: u32) {
    let (requests, responses) = (SlotMemory::new(), SlotMemory::new());
    let trustee = trustee(Arc::clone(&requests), Arc::clone(&responses), batches);
    let client = Client::new(requests, responses);
    let answers = Rc::new(RefCell::new(Vec::new()));
    for argument in 0..batches {
        let answers = Rc::clone(&answers);
        let then = move |outcome: Result<u32, DelegationError>| answers.borrow_mut().push(outcome.unwrap());
        let delegated = Delegated::of::<(), _>(log);
        while !client.fits(delegated.operation()) || !client.has_free_slot() {
            if !client.take_responses() {
                thread::yield_now();
            }
        }
        // SAFETY: it fits; the property at index 1 is the trustee's vector, which outlives all requests.
        unsafe { client.push(delegated, 1, argument, then) };
        assert!(client.publish(), "a slot was free");
    }
    while client.outstanding() > 0 {
        if !client.take_responses() {
            thread::yield_now();
        }
    }
    assert!(trustee.join().unwrap().into_iter().eq(0..batches), "each request once, in order");
    let expected: Vec<u32> = (0..batches).map(|argument| argument * 10).collect();
    assert_eq!(*answers.borrow(), expected, "each answer once, in order");
}

/// Sends `batches` runs of two requests, as far ahead of the responses as slots allow.
fn exchange_runs(batches: u32) {
    let (requests, responses) = (SlotMemory::new(), SlotMemory::new());
    let trustee = trustee(Arc::clone(&requests), Arc::clone(&responses), batches);
    let client = Client::new(requests, responses);
    let here = Location::caller();
    for batch in 0..batches {
        let delegated = Delegated::in_runs::<(), _>(|log: &mut Vec<u32>, number| log.push(number));
        while !client.has_free_slot() {
            if !client.take_responses() {
                thread::yield_now();
            }
        }
        assert!(client.fits_run(delegated.operation()), "the batch is empty");
        // SAFETY: it fits; the property at index 1 is the trustee's vector, which outlives all requests.
        unsafe { client.begin_run(delegated, 1, 2 * batch, here) };
        // SAFETY: as above.
        let continued = unsafe { client.continue_run(delegated, 1, 2 * batch + 1, here) };
        assert_eq!((continued, client.outstanding() > 0), (Ok(()), true));
        assert!(client.publish(), "a slot was free");
    }
    while client.outstanding() > 0 {
        if !client.take_responses() {
            thread::yield_now();
        }
    }
    assert!(trustee.join().unwrap().into_iter().eq(0..2 * batches), "each request once, in order");
}

fn check(exchange: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(exchange);
}

#[test]
fn a_request_is_answered_once() {
    check(|| exchange(1));
}

#[test]
fn two_batches_in_flight_are_answered_in_order() {
    check(|| exchange(2));
}

#[test]
fn a_slot_is_used_again_only_when_both_ends_are_done_with_it() {
    check(|| exchange(3));
}

#[test]
fn both_slots_are_used_again() {
    check(|| exchange(5));
}

#[test]
fn runs_are_served_whole_and_answered_once() {
    check(|| exchange_runs(1));
    check(|| exchange_runs(3));
}
