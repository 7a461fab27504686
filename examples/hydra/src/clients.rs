//! What reaches the clients of a worker without a request of theirs: that it is their turn, and messages of channels.
//!
//! Each worker has one of these.

use crate::connection::Stream;
use crate::protocol::reply::Replies;
use crate::store::glob;
use gossamer::NoRef;
use gossamer::sync::Notify;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// How many bytes of messages may wait for a client. It is dropped if there are more, since they would take all memory.
pub const MOST_UNREAD: usize = 8 << 20;

#[derive(Default)]
pub struct Clients {
    /// All clients of this worker.
    streams: HashMap<u64, Rc<Stream>>,
    /// Clients that wait or have subscribed.
    mailboxes: HashMap<u64, Mailbox>,
    channels: HashMap<Box<[u8]>, BTreeSet<u64>>,
    patterns: HashMap<Box<[u8]>, BTreeSet<u64>>,
    counts: ClientCounts,
}

/// What the clients of a worker have done so far.
#[derive(NoRef, Clone, Copy, Default)]
pub struct ClientCounts {
    /// Connections that are served.
    pub received: u64,
    /// Connections that were one too many.
    pub rejected: u64,
    pub commands: u64,
}

impl ClientCounts {
    pub fn add(&mut self, other: Self) {
        self.received += other.received;
        self.rejected += other.rejected;
        self.commands += other.commands;
    }
}

/// The mailbox of one client.
struct Mailbox {
    woken: Notify,
    /// Whether it waits for a key.
    waits: bool,
    /// It should stop waiting.
    unblocked: Option<Unblocked>,
    messages: Vec<u8>,
    /// More messages have come than may wait.
    is_overfull: bool,
    is_resp3: bool,
    channels: BTreeSet<Box<[u8]>>,
    patterns: BTreeSet<Box<[u8]>>,
}

/// A message for all who have subscribed to a channel.
#[derive(NoRef, Clone)]
pub struct Message {
    pub channel: Vec<u8>,
    pub text: Vec<u8>,
}

/// What a client gets whose wait another client ends.
#[derive(NoRef, Clone, Copy, Debug, PartialEq)]
pub enum Unblocked {
    /// The same as when its time is up.
    ByTime,
    ByError,
}

/// What a client may subscribe to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Topic {
    Channel,
    Pattern,
}

impl Clients {
    /// A client has connected.
    pub fn join(&mut self, client: u64, stream: &Rc<Stream>) {
        self.streams.insert(client, Rc::clone(stream));
    }

    pub fn count(&mut self, counts: ClientCounts) {
        self.counts.add(counts);
    }

    pub fn counts(&mut self) -> ClientCounts {
        self.counts
    }

    /// Counts from zero again.
    pub fn reset_statistics(&mut self) {
        self.counts = ClientCounts::default();
    }

    /// From now on the client gets messages and turns; returns what wakes it.
    pub fn open(&mut self, client: u64, is_resp3: bool) -> Notify {
        let new = || Mailbox {
            woken: Notify::new(),
            waits: false,
            unblocked: None,
            messages: Vec::new(),
            is_overfull: false,
            is_resp3,
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
        };
        self.mailboxes.entry(client).or_insert_with(new).woken.clone()
    }

    /// A client has disconnected.
    pub fn close(&mut self, client: u64) {
        self.streams.remove(&client);
        self.unsubscribe_all(client);
        self.mailboxes.remove(&client);
    }

    /// Ends the connection of a client; returns whether it was there, and was not ended before.
    pub fn kill(&mut self, client: u64) -> bool {
        let stream = self.streams.remove(&client);
        // It may have ended already.
        stream.is_some_and(|stream| stream.close().is_ok())
    }

    pub fn unsubscribe_all(&mut self, client: u64) {
        for topic in [Topic::Channel, Topic::Pattern] {
            for name in self.subscriptions(client, topic) {
                self.unsubscribe(client, topic, &name);
            }
        }
    }

    /// From now on its replies are in another version.
    pub fn speak(&mut self, client: u64, is_resp3: bool) {
        if let Some(mailbox) = self.mailboxes.get_mut(&client) {
            mailbox.is_resp3 = is_resp3;
        }
    }

    /// Tells a client that it is its turn, if it is still there.
    pub fn wake(&mut self, client: u64) {
        if let Some(mailbox) = self.mailboxes.get(&client) {
            mailbox.woken.notify_one();
        }
    }

    /// An open client begins or stops waiting for a key; returns whether another client has ended its wait.
    pub fn set_waits(&mut self, client: u64, waits: bool) -> Option<Unblocked> {
        let mailbox = self.mailboxes.get_mut(&client)?;
        mailbox.waits = waits;
        mailbox.unblocked.take()
    }

    /// Whether another client has ended the wait of this one, and how.
    pub fn unblocked(&mut self, client: u64) -> Option<Unblocked> {
        self.mailboxes.get(&client)?.unblocked
    }

    /// Ends the wait of a client; returns whether it was waiting.
    pub fn unblock(&mut self, (client, how): (u64, Unblocked)) -> bool {
        let mailbox = self.mailboxes.get_mut(&client).filter(|mailbox| mailbox.waits);
        if let Some(mailbox) = mailbox {
            mailbox.unblocked = Some(how);
            mailbox.woken.notify_one();
            return true;
        }
        false
    }

    fn topics(&mut self, topic: Topic) -> &mut HashMap<Box<[u8]>, BTreeSet<u64>> {
        match topic {
            Topic::Channel => &mut self.channels,
            Topic::Pattern => &mut self.patterns,
        }
    }

    /// Subscribes an open client; returns how many subscriptions it has.
    pub fn subscribe(&mut self, client: u64, topic: Topic, name: &[u8]) -> usize {
        self.topics(topic).entry(name.into()).or_default().insert(client);
        let Some(mailbox) = self.mailboxes.get_mut(&client) else { return 0 };
        mailbox.names(topic).insert(name.into());
        mailbox.count()
    }

    /// Returns how many subscriptions are left.
    pub fn unsubscribe(&mut self, client: u64, topic: Topic, name: &[u8]) -> usize {
        let topics = self.topics(topic);
        if let Some(subscribers) = topics.get_mut(name) {
            subscribers.remove(&client);
            if subscribers.is_empty() {
                topics.remove(name);
            }
        }
        let Some(mailbox) = self.mailboxes.get_mut(&client) else { return 0 };
        mailbox.names(topic).remove(name);
        mailbox.count()
    }

    /// What a client has subscribed to.
    pub fn subscriptions(&mut self, client: u64, topic: Topic) -> Vec<Box<[u8]>> {
        self.mailboxes
            .get_mut(&client)
            .map_or_else(Vec::new, |mailbox| mailbox.names(topic).iter().cloned().collect())
    }

    /// To how many channels and patterns a client has subscribed.
    pub fn subscription_counts(&mut self, client: u64) -> [usize; 2] {
        let mailbox = self.mailboxes.get(&client);
        mailbox.map_or([0; 2], |mailbox| [mailbox.channels.len(), mailbox.patterns.len()])
    }

    /// Takes the messages that have come for a client.
    pub fn take_messages(&mut self, client: u64) -> Vec<u8> {
        self.mailboxes.get_mut(&client).map_or_else(Vec::new, |mailbox| std::mem::take(&mut mailbox.messages))
    }

    /// Delivers a message to the clients of this worker; returns how often.
    pub fn deliver(&mut self, message: Message) -> u64 {
        let Message { channel, text } = message;
        let (mut count, mut overfull) = (0, Vec::new());
        let mut put = |client: &u64, words: &[&[u8]]| {
            count += 1;
            if let Some(mailbox) = self.mailboxes.get_mut(client)
                && !mailbox.put(words)
            {
                overfull.push(*client);
            }
        };
        for client in self.channels.get(&*channel).into_iter().flatten() {
            put(client, &[b"message", &channel, &text]);
        }
        for (pattern, subscribers) in &self.patterns {
            if glob::matches(pattern, &channel) {
                subscribers.iter().for_each(|client| put(client, &[b"pmessage", pattern, &channel, &text]));
            }
        }
        // Fibers that wait for these clients to read find their connections closed.
        for client in overfull {
            self.kill(client);
        }
        count
    }

    /// The channels of this worker's clients, or those that match a pattern.
    pub fn channels(&mut self, pattern: Option<Vec<u8>>) -> Vec<Vec<u8>> {
        let is_match = |name: &[u8]| pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name));
        self.channels.keys().filter(|name| is_match(name)).map(|name| name.to_vec()).collect()
    }

    /// How many clients of this worker have subscribed to each of these channels.
    pub fn subscribers(&mut self, channels: Vec<Vec<u8>>) -> Vec<u64> {
        channels.iter().map(|channel| self.channels.get(&**channel).map_or(0, BTreeSet::len) as u64).collect()
    }

    /// All patterns that clients of this worker have subscribed to.
    pub fn patterns(&mut self) -> Vec<Vec<u8>> {
        self.patterns.keys().map(|pattern| pattern.to_vec()).collect()
    }
}

impl Mailbox {
    fn names(&mut self, topic: Topic) -> &mut BTreeSet<Box<[u8]>> {
        match topic {
            Topic::Channel => &mut self.channels,
            Topic::Pattern => &mut self.patterns,
        }
    }

    fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Adds a message; false if too many messages already wait.
    fn put(&mut self, words: &[&[u8]]) -> bool {
        let length: usize = words.iter().map(|word| word.len() + 32).sum();
        self.is_overfull |= self.messages.len() + length > MOST_UNREAD;
        if self.is_overfull {
            self.messages = Vec::new();
        } else {
            let mut to = Replies::new(&mut self.messages, self.is_resp3);
            to.push(words.len());
            words.iter().for_each(|word| to.bulk(word));
        }
        self.woken.notify_one();
        !self.is_overfull
    }
}
