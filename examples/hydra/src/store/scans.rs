//! HSCAN, SSCAN and ZSCAN.
//!
//! A small value is visited at once. In a large one the cursor is the number of places that are left. They are visited
//! from the last one on; when an element is removed, the last element takes its place, so an element that was not
//! visited yet only moves to a place that will be.

use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::protocol::{float, number};
use crate::store::value::hash::Hash;
use crate::store::value::set::Set;
use crate::store::value::sorted::SortedSet;
use crate::store::{Shard, glob};

/// How many elements are looked at, unless COUNT says otherwise.
const DEFAULT_COUNT: usize = 10;

struct Scan<'a> {
    cursor: usize,
    count: usize,
    pattern: &'a [u8],
}

impl<'a> Scan<'a> {
    /// As in redis, after the value was found: if there is none, options are not read.
    fn parse(cursor: usize, options: &[&'a [u8]]) -> Result<Self, Refusal> {
        let mut scan = Self { cursor, count: DEFAULT_COUNT, pattern: b"*" };
        for option in options.chunks(2) {
            let &[option, value] = option else { return Err(refusal::SYNTAX) };
            if option.eq_ignore_ascii_case(b"COUNT") {
                let count = number::parse(value).ok_or(refusal::NO_INTEGER)?;
                scan.count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(refusal::SYNTAX)?;
            } else if option.eq_ignore_ascii_case(b"MATCH") {
                scan.pattern = value;
            } else {
                return Err(refusal::SYNTAX);
            }
        }
        Ok(scan)
    }

    /// The places to look at, among this many, and the next cursor.
    fn places(&self, length: usize, is_small: bool) -> (std::ops::Range<usize>, usize) {
        if is_small {
            return (0..length, 0);
        }
        let end = if self.cursor == 0 { length } else { self.cursor.min(length) };
        let start = end.saturating_sub(self.count);
        (start..end, start)
    }

    fn is_match(&self, name: &[u8]) -> bool {
        glob::is_all(self.pattern) || glob::matches(self.pattern, name)
    }
}

fn cursor(text: &[u8]) -> Result<usize, Refusal> {
    number::parse_cursor(text).map(|cursor| cursor as usize).ok_or(refusal::CURSOR)
}

/// Small sets of redis have integers as such, up to this size, and so they are written.
fn text_of_score(score: f64, is_small: bool) -> String {
    const LARGEST: f64 = (1_i64 << 62) as f64;
    if is_small && score.fract() == 0.0 && score.abs() <= LARGEST {
        return (score as i64).to_string();
    }
    float::text_of_float(score)
}

fn head(to: &mut Replies<'_>, cursor: usize, count: usize) {
    to.array(2);
    to.bulk(cursor.to_string().as_bytes());
    to.array(count);
}

impl Shard {
    pub fn scan_hash(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let cursor = cursor(arguments[1])?;
        let Some(hash) = self.read::<Hash>(arguments[0])? else {
            head(to, 0, 0);
            return Ok(());
        };
        let scan = Scan::parse(cursor, &arguments[2..])?;
        let (places, next) = scan.places(hash.len(), hash.is_small());
        let met: Vec<_> = if hash.is_small() {
            hash.iter().filter(|(field, _)| scan.is_match(field)).collect()
        } else {
            places.map(|place| hash.at(place)).filter(|(field, _)| scan.is_match(field)).collect()
        };
        head(to, next, 2 * met.len());
        for (field, value) in met {
            to.bulk(field);
            to.bulk(value);
        }
        Ok(())
    }

    pub fn scan_set(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let cursor = cursor(arguments[1])?;
        let Some(set) = self.read::<Set>(arguments[0])? else {
            head(to, 0, 0);
            return Ok(());
        };
        let scan = Scan::parse(cursor, &arguments[2..])?;
        let (places, next) = scan.places(set.len(), set.is_small());
        let met: Vec<_> = places.map(|place| set.at(place)).filter(|member| scan.is_match(member)).collect();
        head(to, next, met.len());
        met.iter().for_each(|member| to.bulk(member));
        Ok(())
    }

    pub fn scan_sorted(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let cursor = cursor(arguments[1])?;
        let Some(set) = self.read::<SortedSet>(arguments[0])? else {
            head(to, 0, 0);
            return Ok(());
        };
        let scan = Scan::parse(cursor, &arguments[2..])?;
        let (places, next) = scan.places(set.len(), set.is_small());
        let met: Vec<_> =
            places.map(|place| set.at(place)).filter(|member| scan.is_match(member.name)).collect();
        head(to, next, 2 * met.len());
        for member in met {
            to.bulk(member.name);
            // As redis: a text in RESP3, too.
            to.bulk(text_of_score(member.score, set.is_small()).as_bytes());
        }
        Ok(())
    }
}
