//! The lane between processes over a fabric that delays, tears and reorders writes: requests by themselves and in runs,
//! with everything that the two ends and the fabric may do in random order. And runs that no client of this program
//! writes.

use crate::fabric::sim::{Network, SimWriter};
use crate::fabric::{self, Fabric, SlotMemory};
use crate::lane::catch;
use crate::lane::client::Client;
use crate::lane::encoded::{AnswerRoom, Argument, Fixed, Packed, Serving, Unanswered};
use crate::lane::large::{Arrivals, Exchange};
use crate::lane::operation::Delegated;
use crate::lane::property::Properties;
use crate::lane::server::Server;
use crate::lane::simulated::{Log, noted};
use crate::wire::NoRef;
use crate::wire::batch::{FAR_BODY_WORDS, Header, failure_words};
use crate::wire::request::RequestHeader;
use crate::wire::word::{Word, words_of};
use fastrand::Rng;
use gossamer_macros::NoRef;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

thread_local! {
    /// Values that were made and not yet dropped.
    static ALIVE: Cell<u64> = const { Cell::new(0) };
}

/// The number of a request, which is dropped where it is served.
#[derive(NoRef)]
struct Numbered(u64);

impl Numbered {
    fn new(number: u64) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(number)
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

/// The end that serves.
struct Trustee<F> {
    server: Server<F>,
    properties: Properties,
    exchange: Exchange,
    answers: RefCell<AnswerRoom>,
    log: u32,
}

impl<F: Fabric> Trustee<F> {
    fn new(server: Server<F>) -> Self {
        let properties = Properties::new();
        let log = properties.insert(Log::new());
        let exchange = Exchange::new(Arc::new(Arrivals::default()));
        Self { server, properties, exchange, answers: RefCell::new([Word::new(0); FAR_BODY_WORDS]), log }
    }

    /// Serves a batch. Returns whether there was one that makes sense.
    fn serve(&mut self) -> Option<bool> {
        let Self { server, properties, exchange, answers, .. } = self;
        server.serve_encoded(Serving { properties, exchange, worker: 0, client: 1, answers }).ok()
    }

    /// Takes what it has noted.
    fn noted(&mut self) -> Log {
        let log = self.properties.get(self.log).unwrap().cast::<Log>();
        // SAFETY: the index is that of a `Log`, and nothing is served meanwhile.
        std::mem::take(unsafe { &mut *log })
    }
}

/// Both ends of one lane, and what is between them.
struct Lane {
    network: Arc<Network>,
    client: Client<SimWriter>,
    trustee: Trustee<SimWriter>,
    sent: u64,
    /// The requests that will panic, and the tickets of the errors that their client was told of.
    panicking: usize,
    failed: Rc<RefCell<Vec<u64>>>,
}

impl Lane {
    fn seeded(seed: u64) -> Self {
        let network = Network::seeded(seed);
        let (requests, responses) = (fabric::Lane::requests(0, 1), fabric::Lane::responses(0, 1));
        let server = Server::of_another_process(network.register(requests), network.connect(responses));
        Self {
            client: Client::new(network.connect(requests), network.register(responses)),
            trustee: Trustee::new(server),
            network,
            sent: 0,
            panicking: 0,
            failed: Rc::default(),
        }
    }

    fn push<C: NoRef>(&mut self, closure: impl FnOnce(&mut Log, C) -> u64, argument: impl Argument<C>) {
        let delegated = Delegated::travelling::<(), _>(closure);
        let (operation, number) = (delegated.operation().encoded().unwrap(), self.sent);
        if !self.client.fits_encoded(operation, argument.words()) {
            self.client.make_room();
        }
        let failed = Rc::clone(&self.failed);
        let then = move |outcome: Result<u64, Unanswered>| match outcome {
            Ok(result) => assert_eq!(result, number),
            Err(Unanswered::Late(ticket)) => failed.borrow_mut().push(ticket),
            Err(_) => unreachable!("every result is a number"),
        };
        // SAFETY: there is room now, and `log` is the index of a `Log` that lives as long as the lane.
        unsafe { self.client.push_encoded(operation, self.trustee.log, argument, then) };
        self.sent += 1;
    }

    fn push_in_run<C: NoRef>(&mut self, closure: impl FnOnce(&mut Log, C), arguments: C) {
        let (delegated, here) = (Delegated::travelling_in_runs::<(), _>(closure), Location::caller());
        let (operation, log) = (delegated.operation().encoded().unwrap(), self.trustee.log);
        // SAFETY: `log` is the index of a `Log` that lives as long as the lane.
        let continued = unsafe { self.client.continue_encoded_run(operation, log, Fixed(arguments), here) };
        if let Err(arguments) = continued {
            if !self.client.fits_encoded_run(arguments.words()) {
                self.client.make_room();
            }
            // SAFETY: as above, and there is room now.
            unsafe { self.client.begin_encoded_run(operation, log, arguments, here) };
        }
        self.sent += 1;
    }

    /// Pushes a request of some kind: with no, one and many words, by itself or for a run, some of which panic.
    fn push_some(&mut self, kind: u8) {
        let number = self.sent;
        match kind {
            0 => self.push(|log, ()| noted(log, log.len() as u64), Fixed(())),
            1 => self.push(|log, value: Numbered| noted(log, value.0), Fixed(Numbered::new(number))),
            2 => {
                let bytes = Packed::new(vec![7_u8; number as usize % 100]).unwrap_or_else(|_| unreachable!());
                self.push(|log, _bytes| noted(log, log.len() as u64), bytes);
            }
            3 => self.push_in_run(|log, ()| log.push(log.len() as u64), ()),
            4 => self.push_in_run(|log, value: Numbered| log.push(value.0), Numbered::new(number)),
            5 => self.push_in_run(|log, words: [u64; 32]| log.push(words[31]), [number; 32]),
            6 => self.push_in_run(|log, (number, _padded): (u64, u8)| log.push(number), (number, 7)),
            7 => {
                let sometimes = |log: &mut Log, value: Numbered| {
                    log.push(value.0);
                    assert!(!value.0.is_multiple_of(3), "expected in the output of this test");
                };
                self.panicking += usize::from(number.is_multiple_of(3));
                self.push_in_run(sometimes, Numbered::new(number));
            }
            _ => {
                let panicking = |log: &mut Log, value: Numbered| -> u64 {
                    log.push(value.0);
                    panic!("expected in the output of this test")
                };
                self.panicking += 1;
                self.push(panicking, Fixed(Numbered::new(number)));
            }
        }
    }

    /// Lets one of the two ends or the fabric do something, if it has anything to do.
    fn act(&mut self, random: &mut Rng) {
        let failed = |ticket, _sent_from| self.failed.borrow_mut().push(ticket);
        let _done = match random.u8(..6) {
            0 => self.client.publish(),
            1 => self.trustee.serve().unwrap(),
            2 => self.client.take_encoded(failed).unwrap(),
            _ => self.network.step(),
        };
    }
}

fn run(seed: u64) {
    let (mut random, mut lane) = (Rng::with_seed(seed), Lane::seeded(seed));
    for _ in 0..1000 {
        if random.u8(..3) == 0 {
            let kind = random.u8(..9);
            (0..random.u8(..60)).for_each(|_| lane.push_some(kind));
        }
        lane.act(&mut random);
    }
    for _ in 0..1_000_000 {
        if lane.client.outstanding() == 0 {
            break;
        }
        lane.act(&mut random);
    }
    assert_eq!(lane.client.outstanding(), 0, "requests that were never answered, seed {seed}");
    let noted = lane.trustee.noted();
    assert!(noted.into_iter().eq(0..lane.sent), "not served in order, or not all, seed {seed}");
    let late = lane.trustee.exchange.take_late();
    assert_eq!(late.len(), lane.panicking, "errors of seed {seed}");
    assert!(late.iter().all(|late| late.outcome.is_err()));
    assert!(late.iter().map(|late| late.ticket).eq(lane.failed.take()), "told in order, seed {seed}");
    assert_eq!(ALIVE.get(), 0, "what travelled was not dropped once, seed {seed}");
}

#[test]
fn requests_and_runs_between_processes_are_served_and_answered_in_order_over_a_bad_network() {
    catch::install_hook();
    (0..200).for_each(run);
}

/// Whether a batch is served that says that it has `count` requests, and is a run of so many with `arguments`.
fn is_served(count: u16, number: u64, arguments: &[u64], closure: impl FnOnce(&mut Log, u64)) -> bool {
    let requests = SlotMemory::new();
    let mut trustee = Trustee::new(Server::of_another_process(Arc::clone(&requests), SlotMemory::new()));
    let delegated = Delegated::travelling_in_runs::<(), _>(closure);
    let operation = delegated.operation().encoded().unwrap().identity();
    let header = RequestHeader { property: trustee.log, operation }.pack();
    let body = [&[header, number], arguments].concat();
    let batch = Header { sequence: 1, count, words: body.len() as u16 };
    // SAFETY: nobody else writes these slots, and nobody reads them yet.
    unsafe { requests.write(0, batch.pack(), words_of(&body)) };
    let served = trustee.serve();
    let noted = trustee.noted();
    assert!(arguments.starts_with(&noted), "{noted:?} of {arguments:?}");
    assert!(noted.len() <= count.into() && (served.is_none() || noted.len() == usize::from(count)));
    served.is_some()
}

#[test]
fn a_run_whose_number_is_a_lie_is_refused() {
    let mut random = Rng::with_seed(1);
    let room = SlotMemory::new().words();
    for _ in 0..20_000 {
        let arguments: Vec<u64> = (0..random.u64(..room as u64 - 1)).collect();
        let near = |random: &mut Rng| (arguments.len() as u64).saturating_add_signed(random.i64(-2..3));
        let any = |random: &mut Rng| random.u64(..) >> random.u8(..64);
        let number = if random.bool() { near(&mut random) } else { any(&mut random) };
        let count = if random.bool() { number as u16 } else { any(&mut random) as u16 };
        let served = is_served(count, number, &arguments, |log, number| log.push(number));
        // An empty batch makes sense, whatever follows it.
        let is_true = number == u64::from(count)
            && number <= arguments.len() as u64
            && failure_words(count.into()) + usize::from(count) <= room;
        assert_eq!(
            served,
            is_true || count == 0,
            "{number} in a batch of {count} with {} arguments",
            arguments.len()
        );
    }
}

/// Whether an answer is taken that says that it has `count` responses, all of them errors or none, to one run of so many
/// requests.
fn is_taken(requests: u64, count: u16, failures: u64) -> bool {
    let mut lane = Lane::seeded(0);
    (0..requests).for_each(|number| lane.push_in_run(|log, number| log.push(number), number));
    assert!(lane.client.publish());
    let answers = &lane.client.responses;
    let body = vec![failures; answers.words()];
    let batch = Header { sequence: 1, count, words: body.len() as u16 };
    // SAFETY: nothing is served here, so nobody else writes these slots, and nobody reads them yet.
    unsafe { answers.write(0, batch.pack(), words_of(&body)) };
    lane.client.take_encoded(|_ticket, _sent_from| ()).is_ok()
}

#[test]
fn answers_to_a_run_that_are_fewer_or_more_than_its_requests_are_refused() {
    for requests in [1, 2, 64, 65, 100] {
        for (count, failures) in (1..120).flat_map(|count| [(count, 0), (count, u64::MAX)]) {
            let is_true = requests == u64::from(count);
            assert_eq!(is_taken(requests, count, failures), is_true, "{count} answers to {requests}");
        }
    }
}
