//! A worker of another node sends what no node of this program sends: it is refused, or its queue pair fails, and
//! nothing else happens.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::conformance::{LANE, write};
use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::completion::WorkCompletion;
use crate::fabric::verbs::link::connection::RECEIVE;
use crate::fabric::verbs::link::endpoint::{VerbsEndpoint, VerbsWriter};
use crate::fabric::verbs::link::message::{Immediate, MESSAGE_BYTES, MESSAGE_WORDS, MailboxMessage, Subject};
use crate::fabric::verbs::link::received::RECEIVES;
use crate::fabric::verbs::link::tests::connect;
use crate::fabric::verbs::link::unconnected::UnconnectedEndpoint;
use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use crate::fabric::{Endpoint, Event, FRAGMENT_BYTES, Fabric, Fragment, Lane, Slots, watchdog};
use crate::wire::row::RowLayout;
use fastrand::Rng;
use std::io::{self, ErrorKind};

/// The workers at the two ends.
const VICTIM: u32 = LANE.reader as u32;
const ATTACKER: u32 = LANE.writer as u32;
const ROW: RowLayout = RowLayout { bytes: 8, align: 0 };

/// A worker, and the bare queue pair of another one that is connected to it.
struct Attacked {
    victim: VerbsEndpoint,
    attacker: UnconnectedEndpoint,
    chain: SendChain,
}

impl Attacked {
    fn new() -> Self {
        let [victim, attacker] =
            connect([VICTIM, ATTACKER].map(|worker| worker as usize..worker as usize + 1))
                .map(|mut endpoints| endpoints.remove(0));
        Self { victim: VerbsEndpoint::new(victim), attacker, chain: SendChain::new(1, 1, MESSAGE_BYTES) }
    }

    /// The attacker writes words into an entry of the mailbox, or anywhere, with an immediate.
    fn write(&mut self, words: [u64; MESSAGE_WORDS], entry: u32, immediate: u32) {
        let mut completions = [WorkCompletion::default(); 8];
        while self.attacker.queue.poll(&mut completions).unwrap() > 0 {}
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        let pair = &self.attacker.connected[0];
        let to = pair.outbox.behind(entry as usize * MESSAGE_BYTES);
        self.chain.write(Payload::Inline(&bytes), to, Some(immediate), Signal { id: 1, always: true });
        pair.pair.post(&mut self.chain).unwrap();
    }

    fn say(&mut self, message: MailboxMessage) {
        self.write(message.pack(), 0, Immediate::Message(0).pack());
    }

    /// What the victim does with what arrives next.
    fn hear(&self) -> io::Result<()> {
        loop {
            self.victim.flush()?;
            let touched = |event: Event<'_>| {
                // Reads all of it.
                let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                match event {
                    Event::Fragment { fragment, .. } => assert!(sum(fragment.bytes) < u64::MAX),
                    Event::Row { row, .. } => assert!(sum(row.bytes()) < u64::MAX),
                    _ => {}
                }
                Ok(())
            };
            if self.victim.poll(touched)? {
                return Ok(());
            }
        }
    }

    /// The victim's way to slots of the attacker.
    fn way(&self) -> VerbsWriter {
        self.victim.connect(Lane::requests(VICTIM as usize, ATTACKER as usize))
    }

    #[track_caller]
    fn is_refused(&self, what: &str) {
        let kind = self.hear().map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::InvalidData), "{what}");
    }
}

fn message(subject: Subject) -> MailboxMessage {
    MailboxMessage { receives: 0, places: 0, subject }
}

#[test]
fn immediates_that_name_nothing_of_this_node_are_refused() {
    let _watched = watchdog::watch();
    for immediate in [
        Immediate::Landed(ATTACKER),
        Immediate::Landed(u32::MAX >> 1),
        Immediate::Message(RECEIVES),
        Immediate::Message(u32::MAX >> 1),
    ] {
        let mut attacked = Attacked::new();
        attacked.write([0; MESSAGE_WORDS], 0, immediate.pack());
        attacked.is_refused(&format!("{immediate:?}"));
    }
}

#[test]
fn messages_that_no_node_of_this_program_sends_are_refused() {
    let _watched = watchdog::watch();
    let to = RemoteAddress { address: 4096, key: 5 };
    let fragment = |reader, place| Subject::Fragment { reader, ticket: 0, row: ROW, place, bytes: 8 };
    let row = |reader, row| Subject::Row { reader, ticket: 0, row, from: to };
    let all = [
        message(Subject::Ask { reader: ATTACKER, slots: Slots::Requests }),
        message(Subject::Ask { reader: u32::MAX, slots: Slots::Requests }),
        // The victim has asked the attacker for nothing.
        message(Subject::Ask { reader: VICTIM, slots: Slots::Responses }),
        message(Subject::Grant { reader: ATTACKER, slots: Slots::Requests, to }),
        message(fragment(ATTACKER, 0)),
        message(fragment(VICTIM, u32::MAX)),
        message(row(ATTACKER, ROW)),
        message(row(VICTIM, RowLayout { bytes: 0, ..ROW })),
        message(row(VICTIM, RowLayout { bytes: u64::MAX, ..ROW })),
        message(row(VICTIM, RowLayout { align: 77, ..ROW })),
        message(Subject::Taken { rows: 1 }),
        message(Subject::Taken { rows: u32::MAX }),
        MailboxMessage { receives: 1, ..message(Subject::Credit) },
        MailboxMessage { receives: u32::MAX, ..message(Subject::Credit) },
        MailboxMessage { places: 1, ..message(Subject::Credit) },
        MailboxMessage { places: 1 << 63, ..message(Subject::Credit) },
    ];
    for message in all {
        let mut attacked = Attacked::new();
        attacked.say(message);
        attacked.is_refused(&format!("{message:?}"));
    }
}

#[test]
fn what_may_be_said_once_is_refused_when_it_is_said_again() {
    let _watched = watchdog::watch();
    // For each reader the slots of requests and those of responses.
    let mut attacked = Attacked::new();
    for _ in 0..2 {
        attacked.say(message(Subject::Ask { reader: VICTIM, slots: Slots::Requests }));
        attacked.hear().unwrap();
    }
    attacked.say(message(Subject::Ask { reader: VICTIM, slots: Slots::Requests }));
    attacked.is_refused("slots that were asked for again and again");

    let mut attacked = Attacked::new();
    write(&attacked.way(), 0, 1, 1);
    attacked.victim.flush().unwrap();
    let to = attacked.attacker.connected[0].inbox.remote();
    let granted = message(Subject::Grant { reader: ATTACKER, slots: Slots::Requests, to });
    attacked.say(granted);
    attacked.hear().unwrap();
    attacked.say(granted);
    attacked.is_refused("slots that were granted twice");

    let mut attacked = Attacked::new();
    attacked.way().send(Fragment { ticket: 0, row: ROW, bytes: &[7; 8] }).unwrap();
    attacked.victim.flush().unwrap();
    let back = MailboxMessage { places: 1, ..message(Subject::Credit) };
    attacked.say(back);
    attacked.hear().unwrap();
    attacked.say(back);
    attacked.is_refused("a place that was given back twice");
}

#[test]
fn a_send_that_is_no_write_is_refused() {
    let _watched = watchdog::watch();
    let attacked = Attacked::new();
    // An empty SEND takes a receive, too.
    let completion = ibv_wc {
        wr_id: RECEIVE,
        opcode: IBV_WC_RECV_RDMA_WITH_IMM - 1,
        qp_num: attacked.victim.queue_pairs()[0],
        ..ibv_wc::default()
    };
    let error = attacked.victim.take(&WorkCompletion::of(completion), &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
}

#[test]
fn slots_and_rows_at_an_address_that_opens_nothing_end_with_the_reason() {
    let _watched = watchdog::watch();
    let own = Attacked::new().attacker.connected[0].inbox.remote();
    for to in [
        RemoteAddress { address: 0, key: 0 },
        RemoteAddress { address: u64::MAX - 7, key: u32::MAX },
        // Of another protection domain.
        own,
    ] {
        let row = Subject::Row { reader: VICTIM, ticket: 0, row: ROW, from: to };
        for subject in [Subject::Grant { reader: ATTACKER, slots: Slots::Requests, to }, row] {
            let mut attacked = Attacked::new();
            write(&attacked.way(), 0, 1, 1);
            attacked.victim.flush().unwrap();
            attacked.say(message(subject));
            let error = loop {
                if let Err(error) = attacked.hear() {
                    break error.to_string();
                }
            };
            assert!(error.contains("remote access error (status 10"), "{error}");
        }
    }
}

/// A message that a node may send, or nearly such a message.
fn any_message(rng: &mut Rng) -> [u64; MESSAGE_WORDS] {
    let reader = *rng.choice(&[VICTIM, VICTIM, VICTIM, VICTIM, VICTIM, VICTIM, ATTACKER, u32::MAX]).unwrap();
    let slots = if rng.bool() { Slots::Requests } else { Slots::Responses };
    let to = RemoteAddress { address: rng.u64(..), key: rng.u32(..) };
    let row = RowLayout { bytes: rng.u64(..) >> rng.u32(0..64), align: rng.u8(..) };
    let (place, bytes) = (rng.u32(0..3) * rng.u32(0..3), rng.usize(0..=FRAGMENT_BYTES));
    let subject = match rng.u32(0..8) {
        0 => Subject::Ask { reader, slots },
        1 if rng.bool() => Subject::Grant { reader: ATTACKER, slots, to },
        1..6 => Subject::Fragment { reader, ticket: rng.u64(..), row, place, bytes },
        6 => Subject::Row {
            reader,
            ticket: rng.u64(..),
            row: RowLayout { bytes: row.bytes >> 40, ..row },
            from: to,
        },
        _ if rng.u8(..) == 0 => Subject::Taken { rows: rng.u32(0..3) },
        _ => Subject::Credit,
    };
    let places = if rng.u32(0..16) == 0 { 1 << rng.u32(0..64) } else { 0 };
    let mut words = MailboxMessage { receives: rng.u32(0..16) / 15, places, subject }.pack();
    if rng.u32(0..4) == 0 {
        words[rng.usize(0..MESSAGE_WORDS)] ^= 1 << rng.u32(0..64);
    }
    words
}

#[test]
fn whatever_is_said_is_taken_or_refused_while_this_side_writes_too() {
    let _watched = watchdog::watch();
    let mut rng = Rng::with_seed(7);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..200 {
        let mut attacked = Attacked::new();
        let way = attacked.way();
        for sequence in 1..40 {
            write(&way, 0, sequence, 3);
            // Nobody takes the fragment, so the next one is refused soon.
            let _busy = way.send(Fragment { ticket: 0, row: ROW, bytes: &[7; 8] });
            let entry = rng.u32(0..RECEIVES);
            attacked.write(any_message(&mut rng), entry, Immediate::Message(entry).pack());
            match attacked.hear() {
                Ok(()) => taken += 1,
                Err(error) => {
                    assert_ne!(error.to_string(), "");
                    refused += 1;
                    break;
                }
            }
        }
    }
    assert!(taken > 100 && refused > 100, "{taken} {refused}");
}
