//! Ranges of sorted sets: all forms of ZRANGE, the commands that count, and those that remove.

use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::lists::integer;
use crate::store::sorted_bounds::{Bounds, By};
use crate::store::value::sorted::{Member, SortedSet};
use crate::store::value::write;

/// What a command asks for.
struct Wanted<'a> {
    bounds: Bounds<'a>,
    is_reverse: bool,
    with_scores: bool,
    skipped: usize,
    /// None means all.
    most: Option<usize>,
}

impl<'a> Wanted<'a> {
    /// ZRANGE, and the older commands, whose names stand for options of ZRANGE. A reversed range names its upper bound
    /// first.
    fn parse(
        arguments: &[&'a [u8]],
        given: Option<By>,
        mut is_reverse: bool,
        may_have_scores: bool,
    ) -> Result<Self, Refusal> {
        let (mut by, mut with_scores, (mut skipped, mut most)) = (given, false, (0, -1));
        let is_general = given.is_none();
        let mut rest = &arguments[3..];
        while let [option, behind @ ..] = rest {
            rest = match (option.to_ascii_lowercase().as_slice(), behind) {
                (b"withscores", _) if may_have_scores => {
                    with_scores = true;
                    behind
                }
                (b"byscore", _) if by.is_none() => {
                    by = Some(By::Score);
                    behind
                }
                (b"bylex", _) if by.is_none() => {
                    by = Some(By::Name);
                    behind
                }
                (b"rev", _) if is_general && !is_reverse => {
                    is_reverse = true;
                    behind
                }
                (b"limit", [first, second, behind @ ..]) => {
                    (skipped, most) = (integer(first)?, integer(second)?);
                    behind
                }
                _ => return Err(refusal::SYNTAX),
            };
        }
        let by = by.unwrap_or(By::Rank);
        if by == By::Rank {
            if most != -1 {
                return Err(refusal::LIMIT_ALONE);
            }
            // A limit of all members is accepted, and skips none.
            skipped = 0;
        }
        if with_scores && by == By::Name {
            return Err(refusal::SCORES_BY_NAME);
        }
        let (mut lower, mut upper) = (arguments[1], arguments[2]);
        if is_reverse && by != By::Rank {
            (lower, upper) = (upper, lower);
        }
        let bounds = Bounds::parse(by, lower, upper)?;
        // If a negative number of members is to be skipped, nothing is left.
        let most = if skipped < 0 { Some(0) } else { usize::try_from(most).ok() };
        Ok(Self { bounds, is_reverse, with_scores, skipped: skipped.max(0) as usize, most })
    }

    fn members<'b>(&self, set: SortedSet<'b>) -> Vec<Member<'b>> {
        let mut ranks = self.bounds.ranks(set, self.is_reverse);
        let count = ranks.len().saturating_sub(self.skipped).min(self.most.unwrap_or(usize::MAX));
        if self.is_reverse {
            ranks.end -= self.skipped.min(ranks.len());
            ranks.start = ranks.end - count;
            set.range(ranks).rev().collect()
        } else {
            ranks.start += self.skipped.min(ranks.len());
            ranks.end = ranks.start + count;
            set.range(ranks).collect()
        }
    }
}

impl Shard {
    pub fn sorted_range(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        by: Option<By>,
        is_reverse: bool,
    ) -> Result<(), Refusal> {
        let wanted = Wanted::parse(arguments, by, is_reverse, true)?;
        let set = self.read::<SortedSet>(arguments[0])?;
        let members = set.map(|set| wanted.members(set)).unwrap_or_default();
        if wanted.with_scores {
            to.pairs(members.len())
        } else {
            to.array(members.len())
        }
        for member in members {
            if wanted.with_scores {
                to.pair();
                to.bulk(member.name);
                to.double(member.score);
            } else {
                to.bulk(member.name);
            }
        }
        Ok(())
    }

    /// As `sorted_range` of ZRANGE, for ZRANGESTORE: gives an encoded sorted set.
    pub fn sorted_range_encoded(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let wanted = Wanted::parse(arguments, None, false, false)?;
        let set = self.read::<SortedSet>(arguments[0])?;
        let mut encoded = Vec::new();
        for member in set.map(|set| wanted.members(set)).unwrap_or_default() {
            encoded.extend_from_slice(&member.score.to_le_bytes());
            write(&mut encoded, member.name);
        }
        to.bulk(&encoded);
        Ok(())
    }

    /// ZCOUNT and ZLEXCOUNT.
    pub fn count_range(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>, by: By) -> Result<(), Refusal> {
        let bounds = Bounds::parse(by, arguments[1], arguments[2])?;
        let set = self.read::<SortedSet>(arguments[0])?;
        to.length(set.map_or(0, |set| bounds.ranks(set, false).len()));
        Ok(())
    }

    pub fn remove_range(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>, by: By) -> Result<(), Refusal> {
        let bounds = Bounds::parse(by, arguments[1], arguments[2])?;
        let removed = self.update_existing::<SortedSet, _>(arguments[0], |mut set, _| {
            let ranks = bounds.ranks(set.view(), false);
            set.remove_range(ranks.clone());
            ranks.len()
        })?;
        to.length(removed.unwrap_or(0));
        Ok(())
    }
}
