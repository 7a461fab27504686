//! Who reports why all end, when node 0 has ended and no launcher watches: the lowest node that still lives. It tells
//! the higher ones so, and each of them waits until a lower one has told it, or all lower ones have ended.

use crate::rack::control::{Control, lock, say_last};
use crate::rack::message::MessageWriter;
use crate::transport::socket::Socket;
use crate::worker::end::fate;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Time for a node that gives up to say why.
const LINGER: Duration = Duration::from_millis(400);
/// A lower node that has neither reported nor ended within this time is stopped, or hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Each node waits so much longer than the one below, which may report meanwhile.
const STAGGER: Duration = Duration::from_millis(50);
/// Time between two looks at the lower nodes.
const LOOK: Duration = Duration::from_millis(2);
/// What a node that has reported sends to the higher ones of its machine.
const REPORTED: &[u8] = b"r";

/// While nodes start, a lost node may have given up for a reason that this node is about to find and report too. A
/// launcher gets both, and knows which one explains more.
pub(super) fn wait_for_own_reason() {
    if !fate::is_watched() {
        thread::sleep(LINGER);
    }
}

/// What a node knows about another one after the end of node 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Survivor {
    Silent,
    Ended,
    /// It has reported, and may have ended since.
    Reported,
}

/// The connections of a node to all others except node 0.
pub(crate) struct Survivors {
    node: usize,
    /// What was heard of each node, unless it is on this machine.
    heard: Mutex<Vec<Survivor>>,
    /// The higher nodes on other machines.
    above: Mutex<Vec<Arc<Mutex<MessageWriter>>>>,
    /// Connections to all nodes of this machine, on which both have proved themselves, and nothing is sent until
    /// somebody has reported. Unset until they are connected.
    neighbours: OnceLock<Vec<(usize, Socket)>>,
    has_given_up: AtomicBool,
}

impl Survivors {
    /// `nodes`: how many there are.
    pub(crate) fn new(node: usize, nodes: usize) -> Self {
        let heard = Mutex::new(vec![Survivor::Silent; nodes]);
        Self {
            node,
            heard,
            above: Mutex::default(),
            neighbours: OnceLock::new(),
            has_given_up: AtomicBool::new(false),
        }
    }

    /// Keeps the connections to all nodes of this machine except node 0.
    pub(super) fn keep(&self, neighbours: Vec<(usize, Socket)>) {
        let _once = self.neighbours.set(neighbours);
    }

    /// Keeps a connection to a node of another machine.
    pub(super) fn keep_remote(&self, node: usize, writer: &Arc<Mutex<MessageWriter>>) {
        if node > self.node {
            lock(&self.above).push(Arc::clone(writer));
        }
    }

    /// A node of another machine has reported.
    pub(super) fn hear(&self, node: usize) {
        lock(&self.heard)[node] = Survivor::Reported;
    }

    /// The connection to a node of another machine has ended.
    pub(super) fn lose(&self, node: usize) {
        let mut heard = lock(&self.heard);
        if heard[node] == Survivor::Silent {
            heard[node] = Survivor::Ended;
        }
    }

    /// Whether no lower node reports the end of node 0. Takes as long as they take to end or to report.
    pub(super) fn has_to_report(&self) -> bool {
        let rank = u32::try_from(self.node).unwrap_or(u32::MAX);
        let due = Instant::now() + PATIENCE + STAGGER.saturating_mul(rank);
        loop {
            let below: Vec<Survivor> = (1..self.node).map(|node| self.survivor(node)).collect();
            if below.contains(&Survivor::Reported) {
                return false;
            }
            // Better twice than never.
            if !below.contains(&Survivor::Silent) || Instant::now() >= due {
                return true;
            }
            thread::sleep(LOOK);
        }
    }

    /// Tells the higher nodes that this one has reported. What they do not hear costs a second report.
    pub(super) fn tell(&self) {
        for (_, socket) in self.neighbours().filter(|(node, _)| *node > self.node) {
            let _unheard = send(socket, REPORTED, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        say_last(lock(&self.above).iter().map(|writer| &**writer), &Control::Reported);
    }

    /// This node cannot start, and its program may go on without the others: it does not end with them.
    pub(super) fn give_up(&self) {
        self.has_given_up.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_given_up(&self) -> bool {
        // Relaxed: a process that has just given up may still end with the others.
        self.has_given_up.load(Ordering::Relaxed)
    }

    fn survivor(&self, node: usize) -> Survivor {
        match self.neighbours().find(|(other, _)| *other == node) {
            None => lock(&self.heard)[node],
            Some((_, socket)) => match recv(socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Ok((1.., _)) => Survivor::Reported,
                Err(Errno::AGAIN | Errno::INTR) => Survivor::Silent,
                Ok(_) | Err(_) => Survivor::Ended,
            },
        }
    }

    fn neighbours(&self) -> impl Iterator<Item = &(usize, Socket)> {
        self.neighbours.get().into_iter().flatten()
    }
}
