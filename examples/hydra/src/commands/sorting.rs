//! SORT: the elements of a list, a set or a sorted set in an order that other keys may determine, and what other keys
//! contain for each element.

use crate::commands::fetching::{fetch_each, store};
use crate::commands::moves::bulk;
use crate::connection::Connection;
use crate::protocol::refusal::{NO_INTEGER, NO_WEIGHTS, Refusal, SYNTAX, WRONG_TYPE};
use crate::protocol::{float, number};
use crate::store::operation::Operation;
use crate::store::value::{Kind, read, write};
use std::cmp::Ordering;

struct Sort<'a> {
    source: &'a [u8],
    /// Which key, or which field of a key, contains the value to compare an element by.
    by: Option<Pattern<'a>>,
    /// If `by` has no star, elements are not sorted: they stay in the order of their key.
    is_sorted: bool,
    /// The patterns of what to reply for each element; the element itself if there are none.
    gets: Vec<Get<'a>>,
    /// The first one to reply, and how many; all if that is negative.
    limit: (i64, i64),
    is_descending: bool,
    /// Whether elements are compared as strings, and not as numbers.
    is_alphabetical: bool,
    target: Option<&'a [u8]>,
}

/// The name of a key for each element: the element takes the place of the star.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    before: &'a [u8],
    behind: &'a [u8],
    field: Option<&'a [u8]>,
}

enum Get<'a> {
    Element,
    /// None if there is no star: no key has that name.
    Key(Option<Pattern<'a>>),
}

type Element = Vec<u8>;

impl<'a> Pattern<'a> {
    /// Nothing if there is no star in it.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let star = text.iter().position(|byte| *byte == b'*')?;
        let (before, behind) = (&text[..star], &text[star + 1..]);
        let arrow = behind.windows(2).position(|pair| pair == b"->").filter(|at| at + 2 < behind.len());
        let (behind, field) =
            arrow.map_or((behind, None), |arrow| (&behind[..arrow], Some(&behind[arrow + 2..])));
        Some(Self { before, behind, field })
    }

    /// What a pattern yields for each element: strings, or fields of hashes, and nothing for keys of another type.
    fn look_up(self, connection: &mut Connection, elements: &[Element]) -> Vec<Option<Vec<u8>>> {
        let operation = if self.field.is_some() { Operation::HGet } else { Operation::Get };
        let keys: Vec<_> =
            elements.iter().map(|element| [self.before, element, self.behind].concat()).collect();
        let requests: Vec<Vec<_>> =
            keys.iter().map(|key| [&key[..]].into_iter().chain(self.field).collect()).collect();
        let replies = connection.ask_many(operation, requests.iter().map(Vec::as_slice));
        let string = |reply: &Vec<u8>| {
            let is_there = reply.starts_with(b"$") && !reply.starts_with(b"$-");
            is_there.then(|| bulk(reply).to_vec())
        };
        replies.iter().map(string).collect()
    }
}

impl<'a> Sort<'a> {
    fn parse(arguments: &'a [&'a [u8]], may_store: bool) -> Result<Self, Refusal> {
        let mut sort = Self {
            source: arguments[1],
            by: None,
            is_sorted: true,
            gets: Vec::new(),
            limit: (0, -1),
            is_descending: false,
            is_alphabetical: false,
            target: None,
        };
        let mut rest = &arguments[2..];
        while let [option, behind @ ..] = rest {
            rest = match (option.to_ascii_lowercase().as_slice(), behind) {
                (b"asc", _) => {
                    sort.is_descending = false;
                    behind
                }
                (b"desc", _) => {
                    sort.is_descending = true;
                    behind
                }
                (b"alpha", _) => {
                    sort.is_alphabetical = true;
                    behind
                }
                (b"limit", [start, count, behind @ ..]) => {
                    let number = |text| number::parse(text).ok_or(NO_INTEGER);
                    sort.limit = (number(start)?, number(count)?);
                    behind
                }
                (b"store", [target, behind @ ..]) if may_store => {
                    sort.target = Some(target);
                    behind
                }
                (b"by", [pattern, behind @ ..]) => {
                    sort.by = Pattern::parse(pattern);
                    sort.is_sorted &= sort.by.is_some();
                    behind
                }
                (b"get", [pattern, behind @ ..]) => {
                    let is_element = *pattern == b"#";
                    sort.gets.push(if is_element { Get::Element } else { Get::Key(Pattern::parse(pattern)) });
                    behind
                }
                _ => return Err(SYNTAX),
            };
        }
        Ok(sort)
    }

    /// Whether it concerns keys whose names are not known beforehand.
    fn looks_up(&self) -> bool {
        self.by.is_some() || self.gets.iter().any(|get| matches!(get, Get::Key(Some(_))))
    }

    fn run(mut self, connection: &mut Connection) -> Result<Vec<Option<Vec<u8>>>, Refusal> {
        let (kind, mut elements) = elements(connection, self.source)?;
        if !self.is_sorted && kind == Kind::Set && self.target.is_some() {
            // A set has no order of its own that could be kept.
            (self.is_sorted, self.is_alphabetical, self.by) = (true, true, None);
        }
        if self.is_sorted {
            elements = self.sorted(connection, elements)?;
        } else if kind != Kind::Set && self.is_descending {
            elements.reverse();
        }
        let (start, count) = self.limit;
        let start = usize::try_from(start).unwrap_or(0).min(elements.len());
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let elements: Vec<_> = elements.into_iter().skip(start).take(count).collect();
        if self.gets.is_empty() {
            return Ok(elements.into_iter().map(Some).collect());
        }
        let mut columns: Vec<_> = Vec::with_capacity(self.gets.len());
        for get in &self.gets {
            columns.push(match get {
                Get::Element => elements.iter().cloned().map(Some).collect(),
                Get::Key(None) => vec![None; elements.len()],
                Get::Key(Some(pattern)) => pattern.look_up(connection, &elements),
            });
        }
        Ok((0..elements.len())
            .flat_map(|row| columns.iter().map(move |column| column[row].clone()))
            .collect())
    }

    fn sorted(&self, connection: &mut Connection, elements: Vec<Element>) -> Result<Vec<Element>, Refusal> {
        let weights = match self.by {
            None => elements.iter().cloned().map(Some).collect(),
            Some(pattern) => pattern.look_up(connection, &elements),
        };
        let in_direction = |order: Ordering| if self.is_descending { order.reverse() } else { order };
        if self.is_alphabetical {
            let mut pairs: Vec<_> = weights.into_iter().zip(elements).collect();
            // One without a weight comes first.
            pairs.sort_by(|(one, _), (other, _)| in_direction(one.cmp(other)));
            return Ok(pairs.into_iter().map(|(_, element)| element).collect());
        }
        let weights = weights.iter().map(|weight| weight.as_deref().map_or(Ok(0.0), weight_of));
        let weights = weights.collect::<Result<Vec<_>, _>>()?;
        let mut pairs: Vec<_> = weights.into_iter().zip(elements).collect();
        pairs.sort_by(|(one, own), (other, others)| {
            let order = one.partial_cmp(other).unwrap_or(Ordering::Equal);
            in_direction(order.then_with(|| own.cmp(others)))
        });
        Ok(pairs.into_iter().map(|(_, element)| element).collect())
    }
}

fn weight_of(text: &[u8]) -> Result<f64, Refusal> {
    float::parse_weight(text).ok_or(NO_WEIGHTS)
}

/// The elements of a key, in its order, and its type.
fn elements(connection: &mut Connection, key: &[u8]) -> Result<(Kind, Vec<Element>), Refusal> {
    let (mut kind, mut elements) = (Kind::List, Vec::new());
    fetch_each(connection, &[key], |fetched| {
        let Some((fetched, mut rest)) = fetched else { return Ok(()) };
        if matches!(fetched, Kind::String | Kind::Hash) {
            return Err(WRONG_TYPE);
        }
        kind = fetched;
        while !rest.is_empty() {
            if kind == Kind::SortedSet {
                rest = rest.get(size_of::<f64>()..).unwrap_or_default();
            }
            let Some(element) = read(&mut rest) else { break };
            elements.push(element.to_vec());
        }
        Ok(())
    })?;
    Ok((kind, elements))
}

fn sort_by(connection: &mut Connection, arguments: &[&[u8]], may_store: bool) {
    let sort = match Sort::parse(arguments, may_store) {
        Ok(sort) => sort,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let (source, target) = (sort.source, sort.target);
    let hold = match target {
        // The shards of these keys are known once the elements are.
        _ if sort.looks_up() => connection.hold_every_shard(),
        Some(target) => connection.hold_all(&[source, target]),
        None => None,
    };
    match (sort.run(connection), target) {
        (Err(refusal), _) => connection.refuse(&refusal),
        (Ok(sorted), None) => {
            let mut reply = connection.plan.reply();
            reply.array(sorted.len());
            for element in sorted {
                match element {
                    Some(element) => reply.bulk(&element),
                    None => reply.null(),
                }
            }
        }
        (Ok(sorted), Some(target)) => {
            let mut value = Vec::new();
            sorted.iter().for_each(|element| write(&mut value, element.as_deref().unwrap_or_default()));
            store(connection, target, Kind::List, &value);
            connection.plan.reply().length(sorted.len());
        }
    }
    connection.let_go(hold);
}

pub fn sort(connection: &mut Connection, arguments: &[&[u8]]) {
    sort_by(connection, arguments, true);
}

/// SORT_RO.
pub fn sort_to_read(connection: &mut Connection, arguments: &[&[u8]]) {
    sort_by(connection, arguments, false);
}
