//! The lane between two processes: the client in this one, the server in a fork of it, in memory that both have mapped.

use crate::fabric::SlotMemory;
use crate::lane::client::Client;
use crate::lane::error::DelegationError;
use crate::lane::operation::Delegated;
use crate::lane::property::Properties;
use crate::lane::server::Server;
use crate::sys::memory::segment::Segment;
use crate::sys::process::fork::fork;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The trustee's counter, and whether it shall end.
struct Counter {
    sum: u64,
    ended: Rc<Cell<bool>>,
}

/// Seconds after which a child ends by itself, and after which its parent gives up on it.
const PATIENCE: u32 = 60;
const REQUESTS: u64 = 100_000;

#[test]
fn a_forked_trustee_serves_over_mapped_memory() {
    let bytes = 2 * SlotMemory::BYTES;
    let ours = Arc::new(Segment::create(bytes).unwrap());
    let theirs = Arc::new(Segment::attach(ours.as_fd().try_clone_to_owned().unwrap(), bytes).unwrap());
    let slots = |segment: &Arc<Segment>, index| SlotMemory::in_segment(segment, index * SlotMemory::BYTES);
    let mut server = Server::new(slots(&theirs, 0), slots(&theirs, 1));
    let client = Client::new(slots(&ours, 0), slots(&ours, 1));
    let (properties, ended) = (Properties::new(), Rc::new(Cell::new(false)));
    let counter = properties.insert(Counter { sum: 0, ended: Rc::clone(&ended) });
    let serve = || {
        while !ended.get() {
            if !server.serve(&properties, 0) {
                std::thread::yield_now();
            }
        }
    };
    // SAFETY: serving takes no lock and allocates nothing.
    let child = unsafe { fork(PATIENCE, serve) };
    let add = |counter: &mut Counter, amount: u64| {
        counter.sum += amount;
        counter.sum
    };
    let began = Instant::now();
    let wait_for = |client: &Client<Arc<SlotMemory>>| {
        assert!(began.elapsed().as_secs() < PATIENCE.into(), "the child does not answer");
        if !client.take_responses() {
            std::thread::yield_now();
        }
    };
    let (answered, expected) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    for amount in 0..REQUESTS {
        let delegated = Delegated::of::<(), _>(add);
        while !client.fits(delegated.operation()) && !client.has_free_slot() {
            wait_for(&client);
        }
        if !client.fits(delegated.operation()) {
            client.make_room();
        }
        let (answered, expected) = (Rc::clone(&answered), Rc::clone(&expected));
        let then = move |sum: Result<u64, DelegationError>| {
            expected.set(expected.get() + amount);
            assert_eq!(sum.unwrap(), expected.get());
            answered.set(answered.get() + 1);
        };
        // SAFETY: it fits, and the counter is a property of the child, whose table is a copy of ours.
        unsafe { client.push(delegated, counter, amount, then) };
    }
    let end = Delegated::of::<(), _>(|counter: &mut Counter, ()| counter.ended.set(true));
    while !client.fits(end.operation()) {
        client.make_room();
    }
    // SAFETY: as above.
    unsafe { client.push(end, counter, (), |outcome| outcome.unwrap()) };
    while client.outstanding() > 0 {
        client.publish();
        wait_for(&client);
    }
    assert_eq!(answered.get(), REQUESTS);
    assert_eq!(child.wait(), 0, "the child did not come to its end");
    assert!(!ended.get(), "the child's property is not ours");
}
