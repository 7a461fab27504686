//! One end of a connection between two workers of two nodes: a queue pair, and a mailbox into which the other end writes messages.

use crate::fabric::verbs::link::arriving::{Addressee, ArrivingValues};
use crate::fabric::verbs::link::credit::Credit;
use crate::fabric::verbs::link::lane_writes::{LaneWrites, WaitingWrite};
use crate::fabric::verbs::link::message::{Immediate, MESSAGE_BYTES, MailboxMessage, Subject};
use crate::fabric::verbs::link::received::{RECEIVES, ReceivedMessages};
use crate::fabric::verbs::link::remote_node::RemoteNode;
use crate::fabric::verbs::link::send_queue::SendQueue;
use crate::fabric::verbs::link::sent::SentValues;
use crate::fabric::verbs::link::told_readers::ToldReaders;
use crate::fabric::verbs::link::unconnected::{ConnectedPair, RemoteWorker};
use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::{Busy, Event, Fragment, Lane, SlotMemory, Slots};
use crate::wire::refusal::Malformed;
use crate::wire::row::Row;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::rc::Rc;

/// The name of all receives.
pub(super) const RECEIVE: u64 = u64::MAX;

/// One end. Used by one worker.
pub(super) struct VerbsConnection {
    remote: RemoteWorker,
    /// The worker at this end.
    worker: usize,
    sends: RefCell<SendQueue>,
    inbox: ReceivedMessages,
    /// The mailbox of the other end.
    outbox: RemoteAddress,
    /// Lanes that are written, by reader.
    lanes: RefCell<HashMap<(u32, Slots), Rc<LaneWrites>>>,
    /// Bytes of all lanes that wait.
    waiting: Cell<usize>,
    /// What to tell as soon as there is room.
    messages: RefCell<VecDeque<Subject>>,
    readers: ToldReaders,
    sent: SentValues,
    arriving: ArrivingValues,
    credit: Credit,
    /// Messages so far.
    sent_messages: Cell<u32>,
    /// Lanes whose slots the other side has asked for.
    asked: Cell<usize>,
}

impl Display for VerbsConnection {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let RemoteWorker { node, peer, .. } = &self.remote;
        write!(to, "node {} (worker {peer}) by RDMA port {}", node.number(), self.remote.rail().port())
    }
}

impl VerbsConnection {
    /// The end of a worker.
    pub(super) fn new(worker: usize, connected: ConnectedPair) -> Rc<Self> {
        let ConnectedPair { remote, pair, inbox, outbox, ring } = connected;
        Rc::new(Self {
            remote,
            worker,
            sends: RefCell::new(SendQueue::new(pair, ring)),
            inbox,
            outbox,
            lanes: RefCell::default(),
            waiting: Cell::new(0),
            messages: RefCell::default(),
            readers: ToldReaders::default(),
            sent: SentValues::default(),
            arriving: ArrivingValues::default(),
            credit: Credit::default(),
            sent_messages: Cell::new(0),
            asked: Cell::new(0),
        })
    }

    pub(super) fn node(&self) -> &RemoteNode {
        &self.remote.node
    }

    /// Whether it carries what the worker writes to its node.
    pub(super) fn is_own(&self) -> bool {
        self.remote.is_own
    }

    /// The number of its queue pair.
    pub(super) fn number(&self) -> u32 {
        self.sends.borrow().pair().number()
    }

    /// The writes into slots of the remote node. The same lane always gets the same ones.
    pub(super) fn writes_to(&self, lane: Lane) -> Rc<LaneWrites> {
        let key = (lane.reader as u32, lane.slots);
        let mut lanes = self.lanes.borrow_mut();
        let same_reader = lanes.values().find(|lane| lane.key().0 == key.0).cloned();
        Rc::clone(lanes.entry(key).or_insert_with(|| LaneWrites::new(key, same_reader.as_deref())))
    }

    /// Bytes that wait for room, or to learn where their slots are.
    pub(super) fn unsent(&self) -> usize {
        let told = self.messages.borrow().len() + self.readers.untold();
        self.waiting.get() + told * MESSAGE_BYTES + usize::from(!self.sends.borrow().is_empty())
    }

    /// Writes into a slot, or leaves the write until it can be done. W6: `body` is initialised.
    #[inline]
    pub(super) fn write(&self, lane: &Rc<LaneWrites>, slot: usize, header: u64, body: &[u8]) {
        if !lane.is_held() && self.write_now(lane, slot, header, body) {
            return;
        }
        if lane.ask() {
            let (reader, slots) = lane.key();
            self.messages.borrow_mut().push_back(Subject::Ask { reader, slots });
        }
        self.waiting.set(self.waiting.get() + lane.leave(slot, header, body));
    }

    /// Adds the write to the chain, if there is room.
    #[inline]
    fn write_now(&self, lane: &LaneWrites, slot: usize, header: u64, body: &[u8]) -> bool {
        let Some(slots) = lane.target() else { return false };
        let mut sends = self.sends.borrow_mut();
        // One work request is left for a message.
        if !sends.has_room(3, body.len()) {
            return false;
        }
        let at = slots.behind(SlotMemory::FAR_STRIDE * slot);
        if !body.is_empty() && sends.write(body, at.behind(SlotMemory::BODY_OFFSET), None).is_none() {
            return false;
        }
        let Some(place) = sends.write(&header.to_ne_bytes(), at, None) else { return false };
        self.readers.add(lane.key().0, place);
        true
    }

    /// Whether there is room for a fragment, and for its message behind those that wait. If no place is free, the
    /// worker is told when one is; the other side's next message reports credit.
    pub(super) fn has_room(&self) -> bool {
        self.messages.borrow().is_empty()
            && self.credit.is_there()
            && self.sends.borrow().has_room(3, 0)
            && self.remote.rail().places().has_free(self.worker)
    }

    /// Sends a fragment.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn send(&self, lane: &Rc<LaneWrites>, fragment: Fragment<'_>) -> Result<(), Busy> {
        let Fragment { ticket, row, bytes } = fragment;
        let places = self.remote.rail().places();
        if !self.has_room() {
            return Err(Busy);
        }
        let place = places.take().ok_or(Busy)?;
        // SAFETY: V9: taken above.
        let (entry, to) = unsafe { places.fill(place, bytes) };
        if !bytes.is_empty() {
            self.sends.borrow_mut().write_registered(entry, to);
        }
        self.sent.add_fragment(lane, place);
        let reader = lane.key().0;
        self.add_message(Subject::Fragment { reader, ticket, row, place, bytes: bytes.len() });
        Ok(())
    }

    /// Whether the remote node is to read a row of this many bytes straight from its memory.
    #[inline]
    pub(super) fn takes_rows_of(&self, bytes: usize) -> bool {
        self.remote.rail().takes_rows_of(bytes)
    }

    /// Lets the remote node read a row. There is room (`has_room`).
    ///
    /// # Errors
    /// The row, if it has to go in fragments.
    pub(super) fn send_row(&self, lane: &Rc<LaneWrites>, ticket: u64, row: Row) -> Result<(), Row> {
        let (reader, layout) = (lane.key().0, row.layout());
        let from = self.sent.add_row(self.remote.rail(), lane, row)?;
        self.add_message(Subject::Row { reader, ticket, row: layout, from });
        Ok(())
    }

    /// Adds a message to the chain. There is credit and room for it.
    fn add_message(&self, subject: Subject) {
        let message = MailboxMessage {
            receives: self.credit.tell(),
            places: self.arriving.take_free_places(),
            subject,
        };
        let entry = self.sent_messages.get() % RECEIVES;
        self.sent_messages.set(self.sent_messages.get().wrapping_add(1));
        self.credit.spend();
        let mut bytes = [0; MESSAGE_BYTES];
        bytes
            .chunks_exact_mut(8)
            .zip(message.pack())
            .for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
        let to = self.outbox.behind(entry as usize * MESSAGE_BYTES);
        let immediate = Immediate::Message(entry).pack();
        let added = self.sends.borrow_mut().write(&bytes, to, Some(immediate));
        debug_assert!(added.is_some(), "there was room for a message");
    }

    /// Sends all that can be sent.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn flush(&self) -> io::Result<()> {
        loop {
            self.tell_credit();
            self.tell_messages();
            self.arriving.post_reads(self.remote.rail(), &mut self.sends.borrow_mut());
            let is_full = self.write_what_waits();
            self.readers.tell(&mut self.sends.borrow_mut(), &self.credit, self.outbox);
            self.sends.borrow_mut().post()?;
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Reports receives and places, if the other side may wait for them. The last credit is reserved for that.
    fn tell_credit(&self) {
        let has_to = self.credit.has_to_tell() || self.arriving.has_free_places();
        if has_to && self.credit.is_there_to_tell() && self.sends.borrow().has_room(1, 0) {
            self.add_message(Subject::Credit);
        }
    }

    fn tell_messages(&self) {
        while self.credit.is_there() && self.sends.borrow().has_room(1, 0) {
            let Some(subject) = self.messages.borrow_mut().pop_front() else { return };
            self.add_message(subject);
        }
    }

    /// Writes what waits for room. Returns whether there may be more once the chain is posted.
    fn write_what_waits(&self) -> bool {
        if self.waiting.get() == 0 {
            return false;
        }
        for lane in self.lanes.borrow().values().filter(|lane| lane.is_open()) {
            while let Some(WaitingWrite { slot, header, body }) = lane.first() {
                if !self.write_now(lane, slot, header, &body) {
                    return !self.sends.borrow().is_empty();
                }
                self.waiting.set(self.waiting.get() - lane.forget_first());
            }
        }
        false
    }

    /// Like `SendQueue::fence`.
    #[cfg(all(test, not(loom)))]
    pub(super) fn fence(&self) -> bool {
        self.sends.borrow_mut().fence(self.outbox)
    }

    /// A work request is done, and so are all before it.
    ///
    /// # Errors
    /// Those of `told`, or the device is gone.
    #[inline]
    pub(super) fn complete(
        &self,
        number: u64,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<()> {
        self.sends.borrow_mut().complete(number);
        if self.arriving.complete(number) { self.deliver(told) } else { Ok(()) }
    }

    /// Reports the large values that have arrived whole.
    fn deliver(&self, told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<()> {
        let rows = self.arriving.deliver(self.remote.rail(), self.remote.peer, told)?;
        if rows > 0 {
            self.messages.borrow_mut().push_back(Subject::Taken { rows });
        }
        Ok(())
    }

    /// Takes a write with an immediate.
    ///
    /// # Errors
    /// If no node of this program sends such a write.
    pub(super) fn arrive(
        &self,
        immediate: u32,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<()> {
        let refused = |malformed| io::Error::new(io::ErrorKind::InvalidData, malformed);
        self.credit.take();
        match Immediate::unpack(immediate) {
            Immediate::Landed(reader) if self.remote.rail().lanes().has_reader(reader as usize) => {
                told(Event::Landed(reader as usize)).map_err(refused)
            }
            Immediate::Landed(_) => Err(refused(Malformed::instead_of::<Immediate>())),
            Immediate::Message(entry) => {
                let message = self.inbox.read(entry).map_err(refused)?;
                self.confirm(message, told).map_err(refused)?;
                self.take(message.subject, told)
            }
        }
    }

    /// Posts receives again, for those that writes have taken.
    ///
    /// # Errors
    /// The device is gone.
    #[inline]
    pub(super) fn post_receives(&self) -> io::Result<()> {
        match self.credit.post_again() {
            0 => Ok(()),
            count => self.sends.borrow().pair().post_receives(count as usize, RECEIVE),
        }
    }

    /// Takes what comes with each message.
    fn confirm(
        &self,
        MailboxMessage { receives, places, .. }: MailboxMessage,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let malformed = || Malformed::instead_of::<MailboxMessage>();
        self.credit.confirm(receives)?;
        for place in (0..u64::BITS).filter(|place| places >> place & 1 != 0) {
            self.sent.release_fragment(place).then_some(()).ok_or_else(malformed)?;
        }
        let waiting = self.remote.rail().places().give_back(places);
        self.remote
            .node
            .writers()
            .filter(|worker| waiting >> (worker % 64) & 1 != 0)
            .try_for_each(|worker| told(Event::Landed(worker)))
    }

    fn take(
        &self,
        subject: Subject,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<()> {
        let refused = |malformed| io::Error::new(io::ErrorKind::InvalidData, malformed);
        let malformed = || refused(Malformed::instead_of::<MailboxMessage>());
        let rail = self.remote.rail();
        match subject {
            Subject::Credit => Ok(()),
            Subject::Ask { reader, slots } => {
                let lane = Lane { reader: reader as usize, writer: self.remote.peer, slots };
                // Each reader has two lanes from this writer, which asks for each once.
                if self.asked.replace(self.asked.get() + 1) >= 2 * self.remote.node.writers().len() {
                    return Err(malformed());
                }
                let (found, is_new) = self.remote.rail().lanes().find(lane)?.ok_or_else(malformed)?;
                self.messages.borrow_mut().push_back(Subject::Grant { reader, slots, to: found.address });
                if is_new { told(Event::Lane(lane, found.slots)).map_err(refused) } else { Ok(()) }
            }
            Subject::Grant { reader, slots, to } => {
                let lane = self.lanes.borrow().get(&(reader, slots)).cloned();
                lane.is_some_and(|lane| lane.open(to)).then_some(()).ok_or_else(malformed)
            }
            Subject::Fragment { reader, ticket, row, place, bytes } => {
                let to = Addressee { reader: reader as usize, ticket };
                if !rail.lanes().has_reader(to.reader) || !rail.pool().has(place) {
                    return Err(malformed());
                }
                self.arriving.add_fragment(to, row, place, bytes);
                self.deliver(told)
            }
            Subject::Row { reader, ticket, row, from } => {
                let to = Addressee { reader: reader as usize, ticket };
                if !rail.lanes().has_reader(to.reader) {
                    return Err(malformed());
                }
                self.arriving.add_row(rail, to, row, from)
            }
            Subject::Taken { rows } => self.sent.release_rows(rows).then_some(()).ok_or_else(malformed),
        }
    }
}
