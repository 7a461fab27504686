//! Requests and responses of four workers of two nodes at once, over a device: all of them arrive, however seldom a
//! worker looks, and no write finds no receive.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::choice::settings::RENDEZVOUS;
use crate::fabric::verbs::link::endpoint::{VerbsEndpoint, VerbsWriter};
use crate::fabric::verbs::link::tests::{counter, join};
use crate::fabric::watchdog;
use crate::fabric::{Busy, Endpoint, Event, FRAGMENT_BYTES, Fabric, Fragment, Lane, SlotMemory};
use crate::wire::batch::Header;
use crate::wire::row::{Row, RowLayout};
use crate::wire::word::words_of;
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The workers of the two nodes.
const NODES: [[usize; 2]; 2] = [[0, 1], [2, 3]];
const WORKERS: usize = 4;
/// Batches of each lane.
const BATCHES: u32 = 300;
/// One in this many batches has parts of large values before it, and as many as this.
const LARGE: u32 = 75;
const PARTS: u64 = 3;
/// Bytes of the largest row that is read directly from its place: by two reads.
const LARGEST_ROW: usize = 3 << 19;
/// The test fails after this time without any progress.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requesting end of a lane.
struct Client {
    fabric: VerbsWriter,
    responses: Arc<SlotMemory>,
    written: u32,
    answered: u32,
    /// Parts of large values that were sent: fragments and rows.
    parts: u64,
}

/// The serving end.
struct Server {
    requests: Arc<SlotMemory>,
    fabric: VerbsWriter,
    served: u32,
}

/// All workers.
struct Rack {
    ends: Vec<VerbsEndpoint>,
    clients: HashMap<(usize, usize), Client>,
    servers: HashMap<(usize, usize), Server>,
    /// Parts of large values that have arrived, by writer and reader.
    came: HashMap<(usize, usize), u64>,
    /// How often each worker was told that something has landed, and the count at its last look.
    landed: [u32; WORKERS],
    seen: [u32; WORKERS],
}

fn body(sequence: u32, words: usize) -> Vec<u64> {
    (0..words as u64).map(|word| u64::from(sequence) << 32 | word).collect()
}

fn write(fabric: &VerbsWriter, sequence: u32, words: usize) {
    let slot = (sequence as usize - 1) % crate::fabric::FAR_SLOTS;
    let header = Header { sequence, count: 1, words: words as u16 };
    // SAFETY: L1, L2: each lane has one writer, which has heard back about the slot's last batch.
    unsafe { fabric.write(slot, header.pack(), words_of(&body(sequence, words))) };
}

/// Parts of large values that go before a batch.
fn parts_before(sequence: u32) -> u64 {
    u64::from(sequence / LARGE) * PARTS
}

/// Sends a fragment, or a row that is read directly from its place.
fn send(fabric: &VerbsWriter, ticket: u64, byte: u8, random: &mut Rng) -> Result<(), Busy> {
    if random.u8(..4) > 0 {
        let bytes = vec![byte; random.usize(..=FRAGMENT_BYTES)];
        return fabric.send(Fragment { ticket, row: RowLayout::of_bytes(&bytes), bytes: &bytes });
    }
    let mut bytes = vec![byte; random.usize(RENDEZVOUS..LARGEST_ROW)];
    bytes.reserve(random.usize(..100));
    assert!(fabric.takes_rows_of(bytes.len()) && !fabric.takes_rows_of(RENDEZVOUS - 1));
    if !fabric.has_room() {
        return Err(Busy);
    }
    assert!(fabric.send_row(ticket, Row::of(bytes)).is_ok(), "it is pinned");
    Ok(())
}

/// Whether the next batch has arrived. It must be whole.
fn take(memory: &SlotMemory, last: u32) -> bool {
    let slot = last as usize % crate::fabric::FAR_SLOTS;
    let header = Header::unpack(memory.header(slot));
    if header.sequence != last + 1 {
        return false;
    }
    let read = |start: *const u64| {
        // SAFETY: L3: the batch is there.
        (0..usize::from(header.words)).map(|word| unsafe { start.wrapping_add(word).read() }).collect()
    };
    // SAFETY: L3: likewise.
    let found: Vec<u64> = unsafe { memory.read(slot, read) };
    assert_eq!(found, body(header.sequence, header.words.into()));
    true
}

impl Rack {
    fn new() -> Self {
        let ends: Vec<VerbsEndpoint> =
            join(NODES.map(|[first, last]| first..last + 1)).into_iter().flatten().collect();
        let pairs = |[here, there]: [[usize; 2]; 2]| {
            here.into_iter().flat_map(move |client| there.map(|trustee| (client, trustee)))
        };
        let clients = pairs(NODES).chain(pairs([NODES[1], NODES[0]])).map(|(client, trustee)| {
            let responses = ends[client].register(Lane::responses(client, trustee));
            let fabric = ends[client].connect(Lane::requests(client, trustee));
            ((client, trustee), Client { fabric, responses, written: 0, answered: 0, parts: 0 })
        });
        let clients = clients.collect();
        Self {
            ends,
            clients,
            servers: HashMap::new(),
            came: HashMap::new(),
            landed: [0; WORKERS],
            seen: [0; WORKERS],
        }
    }

    /// Lets a worker request; and serve and take responses if it was told that there may be some, otherwise it sleeps.
    /// Returns whether it did anything.
    fn work(&mut self, worker: usize, random: &mut Rng) -> bool {
        let mut moved = false;
        let is_awake = self.seen[worker] != self.landed[worker];
        self.seen[worker] = self.landed[worker];
        for ((_, trustee), client) in self.clients.iter_mut().filter(|((client, _), _)| *client == worker) {
            while is_awake && take(&client.responses, client.answered) {
                client.answered += 1;
                moved = true;
            }
            // Seldom more than one, so that many writes tell a reader.
            let at_once = if random.u8(..20) == 0 { client.responses.slots() } else { 1 };
            let until = BATCHES.min(client.written + at_once).min(client.answered + client.responses.slots());
            while client.written < until {
                let next = client.written + 1;
                if client.parts < parts_before(next) {
                    if send(&client.fabric, client.parts, *trustee as u8, random).is_err() {
                        break;
                    }
                    client.parts += 1;
                    continue;
                }
                let words =
                    if random.bool() { random.usize(..30) } else { random.usize(..client.responses.words()) };
                write(&client.fabric, next, words);
                client.written = next;
                moved = true;
            }
        }
        for ((client, _), server) in self.servers.iter_mut().filter(|((_, trustee), _)| *trustee == worker) {
            while is_awake && take(&server.requests, server.served) {
                server.served += 1;
                // W7: what was sent before has arrived.
                let parts = self.came.get(&(*client, worker)).copied().unwrap_or(0);
                assert!(parts >= parts_before(server.served), "a batch overtook its large value");
                write(&server.fabric, server.served, random.usize(..server.requests.words()));
                moved = true;
            }
        }
        moved
    }

    /// Makes a worker take what has arrived, and send. Returns whether anything had arrived.
    fn exchange(&mut self, worker: usize) -> bool {
        let mut lanes = Vec::new();
        let (came, landed) = (&mut self.came, &mut self.landed);
        let mut take_part = |writer, reader, ticket, bytes: &[u8]| {
            let count: &mut u64 = came.entry((writer, reader)).or_default();
            assert_eq!(ticket, *count, "in order");
            assert!(bytes.iter().all(|byte| usize::from(*byte) == reader));
            *count += 1;
        };
        self.ends[worker].flush().unwrap();
        let heard = self.ends[worker].poll(|event| {
            match event {
                Event::Landed(reader) => landed[reader] += 1,
                Event::Lane(lane, requests) => lanes.push((lane, requests)),
                Event::Fragment { writer, reader, fragment } => {
                    take_part(writer, reader, fragment.ticket, fragment.bytes);
                }
                Event::Row { writer, reader, ticket, row } => {
                    assert!(row.is_full());
                    take_part(writer, reader, ticket, row.bytes());
                }
            }
            Ok(())
        });
        for (lane, requests) in lanes {
            let fabric = self.ends[lane.reader].connect(Lane::responses(lane.writer, lane.reader));
            self.servers.insert((lane.writer, lane.reader), Server { requests, fabric, served: 0 });
        }
        heard.unwrap()
    }

    fn is_done(&self) -> bool {
        self.clients.values().all(|client| client.answered == BATCHES)
    }
}

#[test]
fn all_batches_of_workers_that_look_now_and_then_are_answered() {
    let _watched = watchdog::watch();
    for seed in 0..5 {
        let mut random = Rng::with_seed(seed);
        let mut rack = Rack::new();
        // Which workers do not look, and until when: long enough for all receives to be taken.
        let mut away = [Instant::now(); WORKERS];
        let mut last = Instant::now();
        while !rack.is_done() {
            let worker = random.usize(..WORKERS);
            let moved = rack.work(worker, &mut random);
            if Instant::now() < away[worker] {
                rack.ends[worker].flush().unwrap();
            } else if rack.exchange(worker) || moved {
                last = Instant::now();
                if random.u8(..100) == 0 {
                    let most = if random.u8(..8) == 0 { 500 } else { 20 };
                    away[worker] = last + Duration::from_millis(random.u64(..most));
                }
            }
            assert!(last.elapsed() < PATIENCE, "seed {seed}: nothing moves");
        }
        assert!(rack.landed.iter().all(|told| *told > 0), "seed {seed}: {:?}", rack.landed);
    }
    // A real device counts for the whole machine.
    if Verbs::tests_are_simulated() {
        assert_eq!(counter(c"rnr"), 0, "a write found no receive");
    }
}
