//! The endpoint of a connection to another machine: it lands what arrives in the slots of the lanes that it is for.

use crate::fabric::tcp::frame::{Content, Frame, SlotWrite};
use crate::fabric::tcp::{Connection, Proved, TcpWriter};
use crate::fabric::{Endpoint, Event, Lane, SlotMemory, Slots};
use crate::wire::refusal::Malformed;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The registered slots of a node. All its connections land in them: one carries what a worker of the other node
/// writes, for all workers here.
pub(crate) struct Registered {
    /// The workers of the node.
    readers: Range<usize>,
    slots: Mutex<HashMap<Lane, Arc<SlotMemory>>>,
}

impl Registered {
    pub(crate) fn new(readers: Range<usize>) -> Self {
        Self { readers, slots: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Lane, Arc<SlotMemory>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        Arc::clone(self.lock().entry(lane).or_insert_with(SlotMemory::far))
    }

    /// The slots that a frame is for, and whether they are new. Responses go only to workers that asked.
    fn find(&self, lane: Lane) -> Option<(Arc<SlotMemory>, bool)> {
        if !self.readers.contains(&lane.reader) {
            return None;
        }
        match self.lock().entry(lane) {
            Entry::Occupied(known) => Some((Arc::clone(known.get()), false)),
            Entry::Vacant(_) if lane.slots == Slots::Responses => None,
            Entry::Vacant(new) => Some((Arc::clone(new.insert(SlotMemory::far())), true)),
        }
    }
}

/// One worker's end of a connection.
pub(crate) struct TcpEndpoint {
    connection: Rc<Connection>,
    /// The worker whose writes arrive on it.
    writer: usize,
    registered: Arc<Registered>,
    /// Where frames were landed before.
    known: RefCell<HashMap<Lane, LaneSlots>>,
    /// Where frames were landed since this worker was last idle.
    busy: RefCell<Vec<LaneSlots>>,
}

/// Slots that frames are landed in.
#[derive(Clone)]
struct LaneSlots {
    slots: Arc<SlotMemory>,
    is_busy: Rc<Cell<bool>>,
}

impl TcpEndpoint {
    /// # Errors
    /// If the socket cannot be made non-blocking.
    pub(crate) fn new(proved: Proved, writer: usize, registered: &Arc<Registered>) -> io::Result<Self> {
        let connection = Connection::new(proved)?;
        let (registered, known, busy) = (Arc::clone(registered), RefCell::default(), RefCell::default());
        Ok(Self { connection, writer, registered, known, busy })
    }

    #[inline]
    fn land(
        &self,
        reader: usize,
        write: &SlotWrite<'_>,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let lane = Lane { reader, writer: self.writer, slots: write.slots };
        let known = self.known.borrow().get(&lane).cloned();
        let found = match known {
            Some(found) => found,
            None => {
                let (slots, is_new) =
                    self.registered.find(lane).ok_or_else(Malformed::instead_of::<SlotWrite<'_>>)?;
                let found = LaneSlots { slots: Arc::clone(&slots), is_busy: Rc::default() };
                self.known.borrow_mut().insert(lane, found.clone());
                if is_new {
                    told(Event::Lane(lane, slots))?;
                }
                found
            }
        };
        if !found.is_busy.replace(true) {
            self.busy.borrow_mut().push(found.clone());
        }
        // SAFETY: the frames of this writer arrive on this connection, and only this worker has its end (it is not
        // `Sync`).
        unsafe { write.land(&found.slots) }?;
        told(Event::Landed(reader))
    }
}

impl Endpoint for TcpEndpoint {
    type Fabric = TcpWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        self.registered.register(lane)
    }

    fn connect(&self, lane: Lane) -> TcpWriter {
        TcpWriter { connection: Rc::clone(&self.connection), worker: lane.reader as u32, slots: lane.slots }
    }

    #[inline]
    fn flush(&self) -> io::Result<()> {
        self.connection.flush()
    }

    #[inline]
    fn poll(&self, mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        self.connection.receive(|Frame { worker, content }| match (worker as usize, content) {
            (reader, Content::Write(write)) => self.land(reader, &write, &mut told),
            (reader, Content::Fragment(fragment)) if self.registered.readers.contains(&reader) => {
                told(Event::Fragment { writer: self.writer, reader, fragment })
            }
            _ => Err(Malformed::instead_of::<Frame<'_>>()),
        })
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        false
    }

    #[inline]
    fn unsent(&self) -> usize {
        self.connection.unsent()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.connection.descriptor())
    }

    /// Lanes that have nothing under way give back the memory that they had for it.
    fn arm(&self) -> io::Result<()> {
        self.busy.borrow_mut().retain(|found| {
            // SAFETY: as in `land`.
            let is_busy = unsafe { found.slots.shrink() };
            found.is_busy.set(is_busy);
            is_busy
        });
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;
    use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments};
    use crate::transport::purpose::{Door, Purpose};
    use crate::transport::records::within_process;
    use crate::transport::seal::protection::Protection;
    use rustix::io::ioctl_fionread;
    use rustix::ioctl::{Getter, Opcode, ioctl};
    use std::ffi::c_int;
    use std::net::{TcpListener, TcpStream};

    /// Two ends of a connection over loopback.
    struct Loopback {
        reader: TcpEndpoint,
        writer: TcpEndpoint,
        /// The reader's socket, and the writer's.
        sockets: [TcpStream; 2],
    }

    /// Bytes that a socket has sent and the kernel of the other end does not have.
    fn sent(socket: &TcpStream) -> c_int {
        /// SIOCOUTQ.
        const OUTPUT_QUEUE: Opcode = 0x5411;
        // SAFETY: it writes a number.
        let getter = unsafe { Getter::<OUTPUT_QUEUE, c_int>::new() };
        // SAFETY: likewise.
        unsafe { ioctl(socket, getter) }.unwrap()
    }

    impl Subject for Loopback {
        type Endpoint = TcpEndpoint;

        /// The seed says how it is protected.
        fn new(seed: u64) -> Self {
            let protection = Protection::from_byte((seed % 3) as u8).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (there, _) = listener.accept().unwrap();
            let sockets = [&there, &here].map(|socket| socket.try_clone().unwrap());
            let purpose = Purpose::of_nodes(Door::Lanes, protection, (1, 0), 0);
            let [connects, accepts] = within_process(purpose).unwrap();
            let end = |proved, writer, readers| {
                TcpEndpoint::new(proved, writer, &Arc::new(Registered::new(readers)))
            };
            Self {
                reader: end((there, accepts), LANE.writer, 0..LANE.reader + 1).unwrap(),
                writer: end((here, connects), LANE.reader, LANE.writer..LANE.writer + 1).unwrap(),
                sockets,
            }
        }

        fn reader(&self) -> &TcpEndpoint {
            &self.reader
        }

        fn writer(&self) -> &TcpEndpoint {
            &self.writer
        }

        fn is_under_way(&self) -> bool {
            // By then what leaves one queue is in the other.
            sent(&self.sockets[1]) > 0 || ioctl_fionread(&self.sockets[0]).unwrap() > 0
        }
    }

    conformance!(Loopback);
    conformance_of_fragments!(Loopback);

    #[test]
    fn a_lane_gives_back_its_memory_once_its_reader_has_done_with_it() {
        let ends = Loopback::new(0);
        let (memory, fabric) = (ends.reader.register(LANE), ends.writer.connect(LANE));
        let slots = memory.slots() as usize;
        (0..slots).for_each(|slot| crate::fabric::conformance::write(&fabric, slot, 1, memory.words()));
        while (0..slots).any(|slot| memory.header(slot) == 0) {
            ends.writer.flush().unwrap(); // the socket may not take all of them at once
            ends.reader.poll(|_| Ok(())).unwrap();
        }
        for slot in 0..slots {
            ends.reader.arm().unwrap();
            assert_eq!(ends.reader.busy.borrow().len(), 1, "{slot} were given back");
            // SAFETY: its header has arrived, and it is given back once.
            unsafe { memory.give_back(slot) };
        }
        ends.reader.arm().unwrap();
        assert!(ends.reader.busy.borrow().is_empty());
        // A slot that holds a batch is not written again, whatever a peer sends.
        for _ in 0..2 {
            crate::fabric::conformance::write(&fabric, 0, 2, 1);
        }
        ends.writer.flush().unwrap();
        let refused = loop {
            if let Err(error) = ends.reader.poll(|_| Ok(())) {
                break error;
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn frames_for_slots_that_nobody_has_here_are_refused() {
        for lane in [Lane { reader: 100, ..LANE }, Lane { slots: Slots::Responses, ..LANE }] {
            let ends = Loopback::new(0);
            crate::fabric::conformance::write(&ends.writer.connect(lane), 0, 1, 1);
            ends.writer.flush().unwrap();
            let refused = loop {
                match ends.reader.poll(|_| Ok(())) {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "{lane:?}");
        }
    }
}
