//! The lane over a fabric that delays, tears and reorders writes: requests of all kinds, with everything that the two
//! ends and the fabric may do in random order, compared with what must come out. A failure names its seed.

use crate::fabric;
use crate::fabric::sim::{Network, SimWriter};
use crate::lane::catch;
use crate::lane::client::Client;
use crate::lane::error::DelegationError;
use crate::lane::operation::Delegated;
use crate::lane::property::Properties;
use crate::lane::server::Server;
use fastrand::Rng;
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// What the trustee holds: the numbers of the requests it has served.
pub(super) type Log = Vec<u64>;

/// What came back for a request: its number, and whether it was served or panicked.
type Answers = Rc<RefCell<Vec<(u64, bool)>>>;

/// Both ends of one lane, and what is between them.
struct Lane {
    network: Arc<Network>,
    client: Client<SimWriter>,
    server: Server<SimWriter>,
    properties: Properties,
    log: u32,
    /// Requests in all, which numbers them, and those of them that are answered to somebody.
    sent: u64,
    pushed: Vec<(u64, bool)>,
    answers: Answers,
    /// Travels with every argument and result that owns something.
    witness: Arc<()>,
}

impl Lane {
    fn seeded(seed: u64) -> Self {
        let network = Network::seeded(seed);
        let (requests, responses) = (fabric::Lane::requests(0, 1), fabric::Lane::responses(0, 1));
        let properties = Properties::new();
        let log = properties.insert(Log::new());
        Self {
            client: Client::new(network.connect(requests), network.register(responses)),
            server: Server::new(network.register(requests), network.connect(responses)),
            network,
            properties,
            log,
            sent: 0,
            pushed: Vec::new(),
            answers: Answers::default(),
            witness: Arc::new(()),
        }
    }

    /// Pushes a request; `number_of` returns the number of the request whose result it gets.
    fn push<C: 'static, U: 'static, F>(
        &mut self,
        panics: bool,
        closure: F,
        arguments: C,
        number_of: fn(U) -> u64,
    ) where
        F: FnOnce(&mut Log, C) -> U,
    {
        let (number, answers) = (self.sent, Rc::clone(&self.answers));
        let then = move |outcome: Result<U, DelegationError>| {
            let answer = outcome.map_or((number, false), |result| (number_of(result), true));
            answers.borrow_mut().push(answer);
        };
        let delegated = Delegated::of::<F, F>(closure);
        if !self.client.fits(delegated.operation()) {
            self.client.make_room();
        }
        // SAFETY: there is room now, and `log` is the index of a `Log` that lives as long as the lane.
        unsafe { self.client.push(delegated, self.log, arguments, then) };
        self.pushed.push((number, !panics));
        self.sent += 1;
    }

    /// Pushes a request whose outcome nobody takes, to the run at the end if it is of the same kind.
    fn push_in_run<C: 'static>(&mut self, closure: impl FnOnce(&mut Log, C), arguments: C) {
        let (delegated, here) = (Delegated::in_runs::<(), _>(closure), Location::caller());
        // SAFETY: `log` is the index of a `Log` that lives as long as the lane.
        if let Err(arguments) = unsafe { self.client.continue_run(delegated, self.log, arguments, here) } {
            if !self.client.fits_run(delegated.operation()) {
                self.client.make_room();
            }
            // SAFETY: as above, and there is room now.
            unsafe { self.client.begin_run(delegated, self.log, arguments, here) };
        }
        self.sent += 1;
    }

    /// Pushes a request of some kind: of no, some, many and too many words, in both directions, and one that panics.
    fn push_some(&mut self, kind: u8) {
        let (number, witness) = (self.sent, Arc::clone(&self.witness));
        match kind {
            0 => self.push(false, |log, ()| noted(log, log.len() as u64), (), |number| number),
            1 => self.push(false, |log, number: u64| noted(log, number), number, |number| number),
            2 => {
                self.push(false, |log, words: [u64; 30]| noted(log, words[29]), [number; 30], |number| number)
            }
            3 => self.push(false, |log, number| [noted(log, number); 31], number, |words| words[30]),
            4 => {
                self.push(false, |log, words: [u64; 90]| noted(log, words[89]), [number; 90], |number| number)
            }
            5 => {
                let owning =
                    |log: &mut Log, (text, held): (String, Arc<()>)| (noted(log, text.len() as u64), held);
                let text = "x".repeat(number as usize);
                self.push(false, owning, (text, witness), |(number, _held)| number);
            }
            6 => self.push_in_run(|log, ()| log.push(log.len() as u64), ()),
            7 => {
                let owning = |log: &mut Log, (number, held): (u64, Arc<()>)| {
                    noted(log, number);
                    drop(held);
                };
                self.push_in_run(owning, (number, witness));
            }
            8 => {
                let sometimes = |log: &mut Log, (number, _held): (u64, Arc<()>)| {
                    noted(log, number);
                    assert!(!number.is_multiple_of(3), "expected in the output of this test");
                };
                self.push_in_run(sometimes, (number, witness));
            }
            _ => {
                let panicking = |log: &mut Log, (number, _held): (u64, Arc<()>)| -> [u64; 3] {
                    noted(log, number);
                    panic!("expected in the output of this test")
                };
                self.push(true, panicking, (number, witness), |words| words[0]);
            }
        }
    }

    /// Lets one of the two ends or the fabric do something, if it has anything to do.
    fn act(&mut self, random: &mut Rng) {
        let _done = match random.u8(..6) {
            0 => self.client.publish(),
            1 => self.server.serve(&self.properties, 0),
            2 => self.client.take_responses(),
            _ => self.network.step(),
        };
    }
}

/// Notes the number of a request, and returns it.
pub(super) fn noted(log: &mut Log, number: u64) -> u64 {
    log.push(number);
    number
}

fn run(seed: u64) {
    let (mut random, mut lane) = (Rng::with_seed(seed), Lane::seeded(seed));
    for _ in 0..1000 {
        if random.u8(..3) == 0 {
            let kind = random.u8(..10);
            (0..random.u8(..40)).for_each(|_| lane.push_some(kind));
        }
        lane.act(&mut random);
    }
    lane.push(false, |log, ()| log.iter().copied().eq(0..log.len() as u64), (), u64::from);
    for _ in 0..1_000_000 {
        if lane.client.outstanding() == 0 {
            break;
        }
        lane.act(&mut random);
    }
    assert_eq!(
        lane.answers.borrow_mut().pop(),
        Some((1, true)),
        "not served in order, or not at all, seed {seed}"
    );
    lane.pushed.pop();
    assert_eq!(*lane.answers.borrow(), lane.pushed, "the answers of seed {seed}");
    assert_eq!(Arc::strong_count(&lane.witness), 1, "what travelled was not dropped once, seed {seed}");
    let (answers, answered) = (Rc::clone(&lane.answers), lane.pushed.len());
    lane.push_some(1);
    drop(lane);
    assert_eq!(answers.borrow().len(), answered, "a request that was never sent was answered");
    assert_eq!(Rc::strong_count(&answers), 1, "its callback is left");
}

#[test]
fn requests_of_all_kinds_are_served_and_answered_in_order_over_a_bad_network() {
    catch::install_hook();
    (0..200).for_each(run);
}
