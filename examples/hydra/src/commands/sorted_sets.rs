//! Sorted sets, and sets, of several keys: ZUNION, ZINTER, ZDIFF, and where their results go.

use crate::commands::fetching::{self, counted, limit, store};
use crate::connection::Connection;
use crate::protocol::float;
use crate::protocol::refusal::{NO_WEIGHT, Refusal, SYNTAX};
use crate::store::value::sorted::Member;
use crate::store::value::{Kind, write};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq)]
enum Combination {
    Intersection,
    Union,
    /// The first set without the members of all others.
    Difference,
}

/// What happens to the scores of a member that is in several sets.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Least,
    Greatest,
}

struct Options {
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
}

/// A member with its score.
type Scored = (Vec<u8>, f64);
/// The members of each key.
type Fetched = Vec<Vec<Scored>>;

fn no_keys(command: &str) -> Refusal {
    format!("ERR at least 1 input key is needed for '{command}' command").into()
}

fn fetch_each(connection: &mut Connection, keys: &[&[u8]]) -> Result<Fetched, Refusal> {
    let mut all = Vec::with_capacity(keys.len());
    fetching::fetch_each(connection, keys, |fetched| {
        let members = fetching::members(fetched, true)?.into_iter();
        all.push(members.map(|(member, score)| (member.to_vec(), score)).collect());
        Ok(())
    })?;
    Ok(all)
}

impl Options {
    fn new(keys: usize) -> Self {
        Self { weights: vec![1.0; keys], aggregate: Aggregate::Sum, with_scores: false }
    }

    /// WEIGHTS, AGGREGATE and WITHSCORES for this many keys.
    fn parse(
        keys: usize,
        arguments: &[&[u8]],
        combination: Combination,
        is_stored: bool,
    ) -> Result<Self, Refusal> {
        let (mut options, mut rest) = (Self::new(keys), arguments);
        let has_scores = combination != Combination::Difference;
        while let [option, behind @ ..] = rest {
            let is = |name: &[u8]| option.eq_ignore_ascii_case(name);
            rest = if is(b"WEIGHTS") && has_scores {
                let (weights, behind) = behind.split_at_checked(keys).ok_or(SYNTAX)?;
                let weights = weights.iter().map(|weight| float::parse_float(weight).ok_or(NO_WEIGHT));
                options.weights = weights.collect::<Result<_, _>>()?;
                behind
            } else if is(b"AGGREGATE") && has_scores {
                let [how, behind @ ..] = behind else { return Err(SYNTAX) };
                options.aggregate = match how.to_ascii_lowercase().as_slice() {
                    b"sum" => Aggregate::Sum,
                    b"min" => Aggregate::Least,
                    b"max" => Aggregate::Greatest,
                    _ => return Err(SYNTAX),
                };
                behind
            } else if is(b"WITHSCORES") && !is_stored {
                options.with_scores = true;
                behind
            } else {
                return Err(SYNTAX);
            };
        }
        Ok(options)
    }

    /// The members of the result, in order.
    fn combine(&self, fetched: Fetched, combination: Combination) -> Vec<Scored> {
        let mut scores: HashMap<Vec<u8>, f64> = HashMap::new();
        // A score that is not a number counts as 0: infinity times a weight of 0, or the sum of both infinities.
        let number_or_zero = |score: f64| if score.is_nan() { 0.0 } else { score };
        let aggregate = |one: f64, other: f64| match self.aggregate {
            Aggregate::Sum => number_or_zero(one + other),
            // Of two zeros the first one, whatever their signs.
            Aggregate::Least => {
                if other < one {
                    other
                } else {
                    one
                }
            }
            Aggregate::Greatest => {
                if other > one {
                    other
                } else {
                    one
                }
            }
        };
        let mut weighted: Vec<_> = fetched.into_iter().zip(&self.weights).collect();
        if combination != Combination::Difference {
            // As redis does: the order decides what scores add up to.
            weighted.sort_by_key(|(members, _)| members.len());
        }
        for (index, (members, weight)) in weighted.into_iter().enumerate() {
            // An intersection aggregates what is not a number as it is, unless it comes first.
            let counts_zero = index == 0 || combination != Combination::Intersection;
            let members = members.into_iter().map(|(member, score)| {
                let score = score * weight;
                (member, if counts_zero { number_or_zero(score) } else { score })
            });
            match combination {
                _ if index == 0 => scores = members.collect(),
                Combination::Union => {
                    for (member, score) in members {
                        scores.entry(member).and_modify(|own| *own = aggregate(*own, score)).or_insert(score);
                    }
                }
                Combination::Intersection => {
                    let both = members.filter_map(|(member, score)| {
                        let own = *scores.get(&member)?;
                        Some((member, aggregate(own, score)))
                    });
                    scores = both.collect();
                }
                Combination::Difference => {
                    for (member, _) in members {
                        scores.remove(&member);
                    }
                }
            }
        }
        let mut combined: Vec<_> = scores.into_iter().collect();
        combined
            .sort_unstable_by(|one, other| Member::new(one.1, &one.0).cmp(&Member::new(other.1, &other.0)));
        combined
    }
}

/// What these arguments ask for. As in redis, keys of another type are refused before options that cannot be read.
fn combined(
    connection: &mut Connection,
    (keys, arguments): (&[&[u8]], &[&[u8]]),
    combination: Combination,
    is_stored: bool,
) -> Result<(Vec<Scored>, bool), Refusal> {
    let fetched = fetch_each(connection, keys)?;
    let options = Options::parse(keys.len(), arguments, combination, is_stored)?;
    Ok((options.combine(fetched, combination), options.with_scores))
}

fn reply(connection: &mut Connection, arguments: &[&[u8]], name: &str, combination: Combination) {
    let counted = match counted(&arguments[1..], no_keys(name)) {
        Ok(counted) => counted,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let hold = connection.hold_all(counted.0);
    match combined(connection, counted, combination, false) {
        Err(refusal) => connection.refuse(&refusal),
        Ok((members, with_scores)) => {
            let mut reply = connection.plan.reply();
            if with_scores {
                reply.pairs(members.len())
            } else {
                reply.array(members.len())
            }
            for (name, score) in members {
                if with_scores {
                    reply.pair();
                    reply.bulk(&name);
                    reply.double(score);
                } else {
                    reply.bulk(&name);
                }
            }
        }
    }
    connection.let_go(hold);
}

fn reply_stored(connection: &mut Connection, arguments: &[&[u8]], name: &str, combination: Combination) {
    let counted = match counted(&arguments[2..], no_keys(name)) {
        Ok(counted) => counted,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let target = arguments[1];
    let hold = connection.hold_all(&[counted.0, &[target]].concat());
    match combined(connection, counted, combination, true) {
        Err(refusal) => connection.refuse(&refusal),
        Ok((members, _)) => {
            let mut value = Vec::new();
            for (name, score) in &members {
                value.extend_from_slice(&score.to_le_bytes());
                write(&mut value, name);
            }
            store(connection, target, Kind::SortedSet, &value);
            connection.plan.reply().length(members.len());
        }
    }
    connection.let_go(hold);
}

pub fn intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, arguments, "zinter", Combination::Intersection);
}

pub fn union(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, arguments, "zunion", Combination::Union);
}

pub fn difference(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, arguments, "zdiff", Combination::Difference);
}

pub fn store_intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, arguments, "zinterstore", Combination::Intersection);
}

pub fn store_union(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, arguments, "zunionstore", Combination::Union);
}

pub fn store_difference(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, arguments, "zdiffstore", Combination::Difference);
}

/// ZINTERCARD.
pub fn count_intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    let (keys, options) = match counted(&arguments[1..], no_keys("zintercard")) {
        Ok(counted) => counted,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let hold = connection.hold_all(keys);
    match fetch_each(connection, keys).and_then(|fetched| Ok((fetched, limit(options)?))) {
        Err(refusal) => connection.refuse(&refusal),
        Ok((fetched, limit)) => {
            let members = Options::new(keys.len()).combine(fetched, Combination::Intersection);
            connection.plan.reply().length(members.len().min(limit));
        }
    }
    connection.let_go(hold);
}
