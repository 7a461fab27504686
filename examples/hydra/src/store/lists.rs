//! Lists.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::value::list::{End, List};
use std::ops::Range;

/// The places that a client means by two indices, which count from the end if they are negative.
pub fn places(first: i64, last: i64, length: usize) -> Range<usize> {
    let from_start = |index: i64| if index < 0 { index.saturating_add(length as i64) } else { index };
    let (first, last) = (from_start(first).max(0), from_start(last).min(length as i64 - 1));
    if first > last { 0..0 } else { first as usize..last as usize + 1 }
}

/// The place that a client means by an index, if there is one.
fn place(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { index.saturating_add(length as i64) } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

pub fn integer(text: &[u8]) -> Result<i64, Refusal> {
    number::parse(text).ok_or(refusal::NO_INTEGER)
}

impl Shard {
    pub fn push(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>, end: End) -> Result<(), Refusal> {
        let (key, elements) = (arguments[0], &arguments[1..]);
        let length = self.update::<List, _>(key, |mut list, encodings| {
            elements.iter().for_each(|element| list.push(end, element, encodings));
            list.view().len()
        })?;
        to.length(length);
        Ok(())
    }

    pub fn push_if_present(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        end: End,
    ) -> Result<(), Refusal> {
        if self.read::<List>(arguments[0])?.is_some() {
            return self.push(arguments, to, end);
        }
        to.integer(0);
        Ok(())
    }

    pub fn pop(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>, end: End) -> Result<(), Refusal> {
        let count = match arguments {
            [_] => None,
            [_, count] => {
                let count = integer(count).map_err(|_| refusal::NOT_POSITIVE)?;
                Some(usize::try_from(count).map_err(|_| refusal::NOT_POSITIVE)?)
            }
            _ => return Err(refusal::arity(if end == End::Left { "lpop" } else { "rpop" })),
        };
        let popped = self.update_existing::<List, _>(arguments[0], |mut list, _| {
            (0..count.unwrap_or(1)).map_while(|_| list.pop(end)).collect::<Vec<_>>()
        })?;
        match (popped, count) {
            (None, None) => to.null(),
            (None, Some(_)) => to.null_array(),
            (Some(popped), None) => popped.iter().for_each(|element| to.bulk(element)),
            (Some(popped), Some(_)) => {
                to.array(popped.len());
                popped.iter().for_each(|element| to.bulk(element));
            }
        }
        Ok(())
    }

    pub fn list_length(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        to.length(self.read::<List>(key)?.map_or(0, List::len));
        Ok(())
    }

    pub fn list_range(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (first, last) = (integer(arguments[1])?, integer(arguments[2])?);
        let Some(list) = self.read::<List>(arguments[0])? else {
            to.array(0);
            return Ok(());
        };
        let places = places(first, last, list.len());
        to.array(places.len());
        list.iter_from(places.start).take(places.len()).for_each(|element| to.bulk(element));
        Ok(())
    }

    pub fn list_element(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let index = number::parse(arguments[1]);
        let list = self.read::<List>(arguments[0])?;
        // As in redis: if there is no such key, the index is not read.
        let Some(list) = list else {
            to.null();
            return Ok(());
        };
        match place(index.ok_or(refusal::NO_INTEGER)?, list.len()).and_then(|place| list.get(place)) {
            Some(element) => to.bulk(element),
            None => to.null(),
        }
        Ok(())
    }

    pub fn set_list_element(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, index, element] = arguments else { return Err(refusal::SYNTAX) };
        let length = self.read::<List>(key)?.ok_or(refusal::NO_SUCH_KEY)?.len();
        let place = place(integer(index)?, length).ok_or(refusal::INDEX)?;
        self.update_existing::<List, _>(key, |mut list, encodings| list.set(place, element, encodings))?;
        to.ok();
        Ok(())
    }

    pub fn insert_list_element(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, side, pivot, element] = arguments else { return Err(refusal::SYNTAX) };
        let is_behind = match side.to_ascii_lowercase().as_slice() {
            b"before" => false,
            b"after" => true,
            _ => return Err(refusal::SYNTAX),
        };
        let Some(list) = self.read::<List>(key)? else {
            to.integer(0);
            return Ok(());
        };
        let Some(place) = list.iter().position(|other| other == pivot) else {
            to.integer(-1);
            return Ok(());
        };
        let length = self.update::<List, _>(key, |mut list, encodings| {
            match place + usize::from(is_behind) {
                end if end == list.view().len() => list.push(End::Right, element, encodings),
                place => list.insert(place, element, encodings),
            }
            list.view().len()
        })?;
        to.length(length);
        Ok(())
    }

    pub fn remove_list_elements(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (count, element) = (integer(arguments[1])?, arguments[2]);
        let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
        let from = if count < 0 { End::Right } else { End::Left };
        let removed = self
            .update_existing::<List, _>(arguments[0], |mut list, _| list.remove_equal(element, most, from))?;
        to.length(removed.unwrap_or(0));
        Ok(())
    }

    pub fn trim_list(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (first, last) = (integer(arguments[1])?, integer(arguments[2])?);
        self.update_existing::<List, _>(arguments[0], |mut list, _| {
            let length = list.view().len();
            let kept = places(first, last, length);
            list.remove(kept.end, length - kept.end);
            list.remove(0, kept.start);
        })?;
        to.ok();
        Ok(())
    }

    pub fn positions(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (element, mut rank, mut count, mut most) = (arguments[1], 1, None, 0);
        for option in arguments[2..].chunks(2) {
            let &[option, value] = option else { return Err(refusal::SYNTAX) };
            match option.to_ascii_lowercase().as_slice() {
                b"rank" => {
                    rank = integer(value)?;
                    if rank == 0 {
                        return Err(refusal::RANK_ZERO);
                    }
                }
                b"count" => {
                    let given = number::parse(value).filter(|count| *count >= 0);
                    count = Some(given.ok_or(refusal::COUNT_NEGATIVE)? as usize);
                }
                b"maxlen" => {
                    let given = number::parse(value).filter(|count| *count >= 0);
                    most = given.ok_or(refusal::MAXLEN_NEGATIVE)? as usize;
                }
                _ => return Err(refusal::SYNTAX),
            }
        }
        let mut found = Vec::new();
        if let Some(list) = self.read::<List>(arguments[0])? {
            let (length, skipped) = (list.len(), rank.unsigned_abs() as usize - 1);
            let most = if most == 0 { length } else { most };
            let wanted = match count {
                None => 1,
                Some(0) => usize::MAX,
                Some(count) => count,
            };
            let is_equal = |(_, other): &(usize, &[u8])| *other == element;
            let index = |(index, _)| index;
            found = if rank > 0 {
                list.iter()
                    .enumerate()
                    .take(most)
                    .filter(is_equal)
                    .skip(skipped)
                    .take(wanted)
                    .map(index)
                    .collect()
            } else {
                let backward = list.iter().rev().enumerate().take(most).filter(is_equal);
                backward.skip(skipped).take(wanted).map(|(index, _)| length - 1 - index).collect()
            };
        }
        match (count, found.first()) {
            (None, None) => to.null(),
            (None, Some(index)) => to.length(*index),
            (Some(_), _) => {
                to.array(found.len());
                found.iter().for_each(|index| to.length(*index));
            }
        }
        Ok(())
    }
}
