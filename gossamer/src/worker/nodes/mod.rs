//! What a worker knows about other nodes: which nodes there are, how it is connected to them, and what is under way
//! between them.

pub(crate) mod answers;
pub(crate) mod connections;
pub(crate) mod large;
pub(crate) mod lending;
pub(crate) mod peers;
pub(crate) mod replicas;
pub(crate) mod requests;
pub(crate) mod results;
pub(crate) mod rounds;
pub(crate) mod teams;

use crate::lane::encoded::AnswerRoom;
use crate::lane::large::{Arrivals, Exchange};
use crate::wire::batch::FAR_BODY_WORDS;
use crate::wire::word::Word;
use answers::Answers;
use connections::Connections;
use lending::Lending;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use teams::Teams;

/// The state of one worker for other nodes.
pub(crate) struct Nodes {
    pub(super) connections: Connections,
    /// Large values and answers under way.
    exchange: Exchange,
    /// Where it gathers its answers to workers of other nodes.
    answer_room: Box<RefCell<AnswerRoom>>,
    pub(crate) answers: Answers,
    pub(crate) lending: Lending,
    teams: Teams,
    /// Fibers that send large arguments.
    senders: Cell<usize>,
    /// Large results that are not sent yet.
    results: Cell<usize>,
    /// Whether the last turn in which some waited was one of theirs.
    results_were_first: Cell<bool>,
    /// The connected lane whose large results come first.
    first_lane: Cell<usize>,
}

impl Nodes {
    pub(super) fn new(connections: Connections, arrivals: &Arc<Arrivals>) -> Self {
        Self {
            connections,
            exchange: Exchange::new(Arc::clone(arrivals)),
            answer_room: Box::new(RefCell::new([Word::new(0); FAR_BODY_WORDS])),
            answers: Answers::default(),
            lending: Lending::default(),
            teams: Teams::default(),
            senders: Cell::new(0),
            results: Cell::new(0),
            results_were_first: Cell::new(false),
            first_lane: Cell::new(0),
        }
    }
}
