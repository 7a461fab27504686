//! Which node is at fault: one rule for every end of an application. Causes count more than consequences, and of
//! several causes the first that became known counts.
//!
//! | explains | a node that |
//! |---|---|
//! | most | was killed, is lost with its machine, or failed by itself |
//! | | ended well, but before node 0 |
//! | least | ended because of other nodes: with status 75, or saying which ones |
//!
//! If there are only consequences, the nodes that ended say which nodes they have lost. A node that was lost, and has
//! lost nobody itself, is at fault: it may have been stopped. If there is no such node, the report names the nodes that
//! accuse each other, and the link between them.

use crate::exit;
use crate::node::ending::{End, How};

/// How much an end explains; a larger one explains more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// It ended because of others.
    Consequence,
    /// It ended well, but too early.
    Early,
    /// It failed by itself.
    Cause,
}

/// The node at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node that has failed.
    Failed(usize),
    /// A node that has not failed, as far as is known; these nodes have lost it, in this order.
    Lost {
        /// The node.
        node: usize,
        /// The nodes that have lost it.
        by: Vec<usize>,
    },
    /// Nodes that have lost each other, and did not fail.
    LostEachOther(usize, usize),
}

/// Which node is at fault, given the number of nodes and those that have ended, in the order in which that became
/// known.
#[must_use]
pub fn fault(ends: &[(usize, &End)]) -> Option<Fault> {
    // The first of those that explain most.
    let heaviest = ends.iter().rev().max_by_key(|(_, end)| weight(end))?;
    if weight(heaviest.1) > Weight::Consequence {
        return Some(Fault::Failed(heaviest.0));
    }
    let accusations: Vec<(usize, usize)> = ends
        .iter()
        .flat_map(|(by, end)| accused(end).into_iter().map(|node| (*by, node)))
        .filter(|(by, node)| by != node)
        .collect();
    Some(of_accusations(&accusations).unwrap_or(Fault::Failed(heaviest.0)))
}

/// Whether an end is a cause: then the application has failed, whatever else becomes known.
#[must_use]
pub fn is_cause(end: &End) -> bool {
    weight(end) == Weight::Cause
}

/// Whether a node has ended because of others.
#[must_use]
pub fn is_consequence(end: &End) -> bool {
    weight(end) == Weight::Consequence
}

/// Which nodes each node accuses.
fn of_accusations(accusations: &[(usize, usize)]) -> Option<Fault> {
    let accuses = |node| accusations.iter().any(|(by, _)| *by == node);
    let by = |node| accusations.iter().filter(|(_, accused)| *accused == node).map(|(by, _)| *by).collect();
    let lost = accusations.iter().map(|(_, node)| *node).filter(|node| !accuses(*node));
    let lost = lost.map(|node| (node, by(node))).collect::<Vec<(usize, Vec<usize>)>>();
    // The first of the nodes that were lost by most others.
    if let Some((node, by)) = lost.into_iter().rev().max_by_key(|(_, by)| by.len()) {
        return Some(Fault::Lost { node, by });
    }
    let is_mutual = |(by, node): &&(usize, usize)| accusations.contains(&(*node, *by));
    accusations.iter().find(is_mutual).map(|(by, node)| Fault::LostEachOther(*by.min(node), *by.max(node)))
}

fn weight(end: &End) -> Weight {
    match end.how {
        How::Exited(exit::LOST) => Weight::Consequence,
        How::Exited(_) if !accused(end).is_empty() => Weight::Consequence,
        How::Exited(0) => Weight::Early,
        How::Exited(_) | How::Killed { .. } | How::OutOfMemory(_) | How::Lost(_) => Weight::Cause,
    }
}

/// The nodes that a node says it has lost.
fn accused(end: &End) -> Vec<usize> {
    let list = end.words.as_deref().and_then(split).map(|(list, _)| list);
    list.into_iter().flat_map(|list| list.split(", ")).filter_map(|node| node.parse().ok()).collect()
}

/// The part of a node's words that is meant for people.
#[must_use]
pub fn said(words: &str) -> &str {
    split(words).map_or(words, |(_, text)| text)
}

/// `because of node 1, 2: …`
fn split(words: &str) -> Option<(&str, &str)> {
    words.strip_prefix("because of node ")?.split_once(": ")
}
