//! The bounds of a range of a sorted set: ranks, scores or names, all of which become ranks.

use crate::protocol::float;
use crate::protocol::refusal::{self, Refusal};
use crate::store::lists::{integer, places};
use crate::store::value::sorted::{Member, SortedSet};
use std::ops::Range;

/// What the bounds of a range are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Rank,
    Score,
    Name,
}

/// A range from the lower to the upper bound.
pub enum Bounds<'a> {
    Ranks(i64, i64),
    Scores(Bound<f64>, Bound<f64>),
    Names(NameBound<'a>, NameBound<'a>),
}

#[derive(Clone, Copy)]
pub struct Bound<T> {
    at: T,
    is_excluded: bool,
}

#[derive(Clone, Copy)]
pub enum NameBound<'a> {
    First,
    Last,
    At(Bound<&'a [u8]>),
}

fn score(text: &[u8]) -> Result<Bound<f64>, Refusal> {
    let (text, is_excluded) = text.strip_prefix(b"(").map_or((text, false), |text| (text, true));
    let at = float::parse_bound(text).ok_or(refusal::NO_FLOAT_BOUND)?;
    Ok(Bound { at, is_excluded })
}

fn name(text: &[u8]) -> Result<NameBound<'_>, Refusal> {
    match text {
        b"-" => Ok(NameBound::First),
        b"+" => Ok(NameBound::Last),
        [b'[', at @ ..] => Ok(NameBound::At(Bound { at, is_excluded: false })),
        [b'(', at @ ..] => Ok(NameBound::At(Bound { at, is_excluded: true })),
        _ => Err(refusal::NO_NAME_BOUND),
    }
}

impl<'a> Bounds<'a> {
    pub fn parse(by: By, lower: &'a [u8], upper: &'a [u8]) -> Result<Self, Refusal> {
        Ok(match by {
            By::Rank => Self::Ranks(integer(lower)?, integer(upper)?),
            By::Score => Self::Scores(score(lower)?, score(upper)?),
            By::Name => Self::Names(name(lower)?, name(upper)?),
        })
    }

    /// The ranks of the members in it. In a reversed range, ranks count from the highest member.
    pub fn ranks(&self, set: SortedSet<'_>, is_reverse: bool) -> Range<usize> {
        let length = set.len();
        let (from, to) = match self {
            Self::Ranks(first, last) => {
                let ranks = places(*first, *last, length);
                if is_reverse { (length - ranks.end, length - ranks.start) } else { (ranks.start, ranks.end) }
            }
            Self::Scores(lower, upper) => {
                (below_score(set, lower, lower.is_excluded), below_score(set, upper, !upper.is_excluded))
            }
            Self::Names(lower, upper) => (below_name(set, lower, true), below_name(set, upper, false)),
        };
        from..to.max(from)
    }
}

/// How many members have a lower score, or not a higher one.
fn below_score(set: SortedSet<'_>, bound: &Bound<f64>, or_equal: bool) -> usize {
    if !or_equal {
        return set.rank_of(Member::new(bound.at, b""));
    }
    if bound.at == f64::INFINITY { set.len() } else { set.rank_of(Member::new(bound.at.next_up(), b"")) }
}

/// How many members are before a name, or, for an upper bound, not after it. Only names are compared, because all
/// scores should be equal.
fn below_name(set: SortedSet<'_>, bound: &NameBound<'_>, is_lower: bool) -> usize {
    match bound {
        NameBound::First => 0,
        NameBound::Last => set.len(),
        NameBound::At(bound) if bound.is_excluded == is_lower => {
            set.count_while(|member| member.name <= bound.at)
        }
        NameBound::At(bound) => set.count_while(|member| member.name < bound.at),
    }
}
