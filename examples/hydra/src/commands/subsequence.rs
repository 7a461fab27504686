//! LCS: the longest common subsequence of two strings.

use crate::commands::fetching::{fetch_each, string};
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{LCS_BOTH, LCS_STRINGS, LCS_TOO_LONG, NO_INTEGER, Refusal, SYNTAX};
use crate::store::ranges::LONGEST_VALUE;

#[derive(Default)]
struct Options {
    length_only: bool,
    with_ranges: bool,
    with_lengths: bool,
    /// Shorter ranges are not reported.
    shortest: i64,
}

/// Bytes that both strings share: where they begin in each, and how many they are.
struct Range {
    one: usize,
    other: usize,
    length: usize,
}

fn parse(arguments: &[&[u8]]) -> Result<Options, Refusal> {
    let (mut options, mut rest) = (Options::default(), arguments);
    while let [option, behind @ ..] = rest {
        rest = behind;
        match (option.to_ascii_lowercase().as_slice(), behind) {
            (b"len", _) => options.length_only = true,
            (b"idx", _) => options.with_ranges = true,
            (b"withmatchlen", _) => options.with_lengths = true,
            (b"minmatchlen", [shortest, behind @ ..]) => {
                options.shortest = number::parse(shortest).ok_or(NO_INTEGER)?;
                rest = behind;
            }
            _ => return Err(SYNTAX),
        }
    }
    if options.length_only && options.with_ranges { Err(LCS_BOTH) } else { Ok(options) }
}

pub fn longest_common(connection: &mut Connection, arguments: &[&[u8]]) {
    let hold = connection.hold_all(&arguments[1..3]);
    let mut strings = Vec::new();
    let fetched = fetch_each(connection, &arguments[1..3], |fetched| {
        strings.push(string(fetched).map_err(|_| LCS_STRINGS)?.to_vec());
        Ok(())
    });
    connection.let_go(hold);
    let outcome = fetched.and_then(|()| {
        let options = parse(&arguments[3..])?;
        let (length, ranges) = common(&strings[0], &strings[1])?;
        Ok((options, length, ranges))
    });
    let (options, length, ranges) = match outcome {
        Ok(outcome) => outcome,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let mut reply = connection.plan.reply();
    if options.length_only {
        return reply.length(length);
    }
    if !options.with_ranges {
        let parts = ranges.iter().rev().map(|range| &strings[0][range.one..range.one + range.length]);
        return reply.bulk(&parts.collect::<Vec<_>>().concat());
    }
    let told: Vec<_> = ranges.iter().filter(|range| range.length as i64 >= options.shortest).collect();
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(told.len());
    for range in told {
        reply.array(if options.with_lengths { 3 } else { 2 });
        for start in [range.one, range.other] {
            reply.array(2);
            reply.length(start);
            reply.length(start + range.length - 1);
        }
        if options.with_lengths {
            reply.length(range.length);
        }
    }
    reply.bulk(b"len");
    reply.length(length);
}

/// How many bytes are common, and which, starting with the last.
fn common(one: &[u8], other: &[u8]) -> Result<(usize, Vec<Range>), Refusal> {
    let width = other.len() + 1;
    let cells = (one.len() + 1).checked_mul(width).filter(|cells| cells * size_of::<u32>() <= LONGEST_VALUE);
    // The length for each pair of beginnings.
    let mut lengths = vec![0_u32; cells.ok_or(LCS_TOO_LONG)?];
    for (row, byte) in one.iter().enumerate() {
        for (column, own) in other.iter().enumerate() {
            let at = (row + 1) * width + column + 1;
            lengths[at] = if byte == own {
                lengths[at - width - 1] + 1
            } else {
                lengths[at - width].max(lengths[at - 1])
            };
        }
    }
    let (mut row, mut column) = (one.len(), other.len());
    let mut ranges: Vec<Range> = Vec::new();
    while row > 0 && column > 0 {
        let at = row * width + column;
        if one[row - 1] == other[column - 1] {
            (row, column) = (row - 1, column - 1);
            match ranges.last_mut() {
                Some(last) if last.one == row + 1 && last.other == column + 1 => {
                    *last = Range { one: row, other: column, length: last.length + 1 };
                }
                _ => ranges.push(Range { one: row, other: column, length: 1 }),
            }
        } else if lengths[at - width] > lengths[at - 1] {
            row -= 1;
        } else {
            column -= 1;
        }
    }
    Ok((lengths.last().map_or(0, |length| *length as usize), ranges))
}
