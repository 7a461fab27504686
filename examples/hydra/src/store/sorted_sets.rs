//! Sorted sets: members and their scores. Ranges of them are in `sorted_ranges`.

use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::protocol::{float, number};
use crate::store::Shard;
use crate::store::value::Encodings;
use crate::store::value::sorted::{Member, SortedSet, SortedSetMut};

/// The options of ZADD.
#[derive(Default)]
struct Options {
    if_absent: bool,
    if_present: bool,
    if_greater: bool,
    if_less: bool,
    counts_changed: bool,
    increments: bool,
}

/// What ZADD has done.
#[derive(Default)]
struct Outcome {
    added: usize,
    updated: usize,
    /// The new score of the last member; nothing if it was not to be changed.
    score: Option<f64>,
}

impl Options {
    /// The options, and the arguments after them.
    fn parse<'a, 'b>(arguments: &'a [&'b [u8]]) -> Result<(Self, &'a [&'b [u8]]), Refusal> {
        let (mut options, mut rest) = (Self::default(), arguments);
        while let [option, behind @ ..] = rest {
            let option = match option.to_ascii_lowercase().as_slice() {
                b"nx" => &mut options.if_absent,
                b"xx" => &mut options.if_present,
                b"gt" => &mut options.if_greater,
                b"lt" => &mut options.if_less,
                b"ch" => &mut options.counts_changed,
                b"incr" => &mut options.increments,
                _ => break,
            };
            *option = true;
            rest = behind;
        }
        if rest.is_empty() || !rest.len().is_multiple_of(2) {
            return Err(refusal::SYNTAX);
        }
        if options.if_absent && options.if_present {
            return Err(refusal::NX_AND_XX);
        }
        if options.if_greater && (options.if_absent || options.if_less)
            || options.if_less && options.if_absent
        {
            return Err(refusal::GT_LT_NX);
        }
        if options.increments && rest.len() > 2 {
            return Err(refusal::ONE_INCREMENT);
        }
        Ok((options, rest))
    }

    /// Gives one member a score, or adds to the score that it has.
    fn add(
        &self,
        set: &mut SortedSetMut<'_>,
        (score, name): (f64, &[u8]),
        encodings: &Encodings,
        outcome: &mut Outcome,
    ) -> Result<(), Refusal> {
        let before = set.view().score(name);
        outcome.score = None;
        if before.is_some() && self.if_absent || before.is_none() && self.if_present {
            return Ok(());
        }
        // The first score may be a negative zero.
        let after = before.filter(|_| self.increments).map_or(score, |before| before + score);
        if after.is_nan() {
            return Err(refusal::NO_SCORE);
        }
        if before.is_some_and(|before| self.if_greater && after <= before || self.if_less && after >= before)
        {
            return Ok(());
        }
        outcome.score = Some(after);
        set.set(Member::new(after, name), before, encodings);
        outcome.added += usize::from(before.is_none());
        outcome.updated += usize::from(before.is_some_and(|before| before != after));
        Ok(())
    }
}

impl Shard {
    pub fn add_ranked(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (options, rest) = Options::parse(&arguments[1..])?;
        let scored = rest
            .chunks_exact(2)
            .map(|pair| float::parse_float(pair[0]).map(|score| (score, pair[1])).ok_or(refusal::NO_FLOAT));
        // All of them are read before any is stored.
        let scored = scored.collect::<Result<Vec<_>, _>>()?;
        let mut outcome = Outcome::default();
        self.update::<SortedSet, _>(arguments[0], |mut set, encodings| {
            for pair in scored {
                options.add(&mut set, pair, encodings, &mut outcome)?;
            }
            Ok::<_, Refusal>(outcome.added + outcome.updated)
        })??;
        match (options.increments, outcome.score) {
            (true, Some(score)) => to.double(score),
            (true, None) => to.null(),
            (false, _) => to.length(outcome.added + if options.counts_changed { outcome.updated } else { 0 }),
        }
        Ok(())
    }

    pub fn increment_score(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, by, name] = arguments else { return Err(refusal::SYNTAX) };
        self.add_ranked(&[key, b"incr", by, name], to)
    }

    pub fn score(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        match self.read::<SortedSet>(arguments[0])?.and_then(|set| set.score(arguments[1])) {
            Some(score) => to.double(score),
            None => to.null(),
        }
        Ok(())
    }

    pub fn scores(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let set = self.read::<SortedSet>(arguments[0])?;
        to.array(arguments.len() - 1);
        for name in &arguments[1..] {
            match set.and_then(|set| set.score(name)) {
                Some(score) => to.double(score),
                None => to.null(),
            }
        }
        Ok(())
    }

    pub fn ranked_length(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        to.length(self.read::<SortedSet>(key)?.map_or(0, SortedSet::len));
        Ok(())
    }

    pub fn remove_ranked(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let names = &arguments[1..];
        let removed = self.update_existing::<SortedSet, _>(arguments[0], |mut set, _| {
            names.iter().filter(|name| set.remove(name)).count()
        })?;
        to.length(removed.unwrap_or(0));
        Ok(())
    }

    pub fn rank(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        is_reverse: bool,
    ) -> Result<(), Refusal> {
        let set = self.read::<SortedSet>(arguments[0])?;
        match set.and_then(|set| Some((set.rank(arguments[1])?, set.len()))) {
            Some((rank, length)) => to.length(if is_reverse { length - 1 - rank } else { rank }),
            None => to.null(),
        }
        Ok(())
    }

    /// ZPOPMIN and ZPOPMAX.
    pub fn pop_ranked(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        is_highest: bool,
    ) -> Result<(), Refusal> {
        let count = match arguments {
            [_] => None,
            [_, count] => {
                let count = number::parse(count).filter(|count| *count >= 0);
                Some(count.ok_or(refusal::NOT_POSITIVE)? as usize)
            }
            _ => return Err(refusal::SYNTAX),
        };
        let popped = self.update_existing::<SortedSet, _>(arguments[0], |mut set, _| {
            set.pop(count.unwrap_or(1), is_highest)
        })?;
        let popped = popped.unwrap_or_default();
        if count.is_some() {
            to.pairs(popped.len());
        } else {
            to.array(2 * popped.len());
        }
        for (name, score) in popped {
            if count.is_some() {
                to.pair();
            }
            to.bulk(&name);
            to.double(score);
        }
        Ok(())
    }
}
