//! BITOP.

use crate::commands::fetching::{fetch_each, string};
use crate::connection::Connection;
use crate::protocol::refusal::{BITOP_NOT, Refusal, SYNTAX};

#[derive(Clone, Copy)]
enum Combination {
    And,
    Or,
    Xor,
    /// Of a single string.
    Not,
}

/// Changes each byte by the one at the same place of the other string, which the compiler does for many at once.
#[inline]
fn change(value: &mut [u8], other: &[u8], combine: impl Fn(u8, u8) -> u8) {
    value.iter_mut().zip(other).for_each(|(byte, other)| *byte = combine(*byte, *other));
}

impl Combination {
    /// Combines a value with another string, as if both were as long as the longer one: missing bytes are zeros.
    fn add(self, value: &mut Vec<u8>, other: &[u8]) {
        value.resize(value.len().max(other.len()), 0);
        match self {
            Self::And => {
                let (both, behind) = value.split_at_mut(other.len());
                change(both, other, |one, other| one & other);
                behind.fill(0);
            }
            Self::Or => change(value, other, |one, other| one | other),
            Self::Xor => change(value, other, |one, other| one ^ other),
            Self::Not => {}
        }
    }
}

pub fn combine(connection: &mut Connection, arguments: &[&[u8]]) {
    let combination = match arguments[1].to_ascii_lowercase().as_slice() {
        b"and" => Combination::And,
        b"or" => Combination::Or,
        b"xor" => Combination::Xor,
        b"not" if arguments.len() == 4 => Combination::Not,
        b"not" => return connection.refuse(&BITOP_NOT),
        _ => return connection.refuse(&SYNTAX),
    };
    let hold = connection.hold_all(&arguments[2..]);
    match combined(connection, &arguments[3..], combination) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(value) => {
            let length = value.len();
            connection.store_string(arguments[2], value);
            connection.plan.reply().length(length);
        }
    }
    connection.let_go(hold);
}

fn combined(
    connection: &mut Connection,
    keys: &[&[u8]],
    combination: Combination,
) -> Result<Vec<u8>, Refusal> {
    let mut combined = None;
    fetch_each(connection, keys, |fetched| {
        let string = string(fetched)?;
        match &mut combined {
            None => combined = Some(string.to_vec()),
            Some(value) => combination.add(value, string),
        }
        Ok(())
    })?;
    let mut value = combined.unwrap_or_default();
    if let Combination::Not = combination {
        value.iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::Combination;

    #[test]
    fn strings_of_all_lengths_are_combined_as_if_zeros_followed_the_shorter_one() {
        let bytes = |length: usize, factor: usize| -> Vec<u8> {
            (0..length).map(|at| (at * factor + 3) as u8).collect()
        };
        for (combination, combine) in [
            (Combination::And, (|one, other| one & other) as fn(u8, u8) -> u8),
            (Combination::Or, |one, other| one | other),
            (Combination::Xor, |one, other| one ^ other),
        ] {
            for lengths in (0..70).flat_map(|one| (0..70).map(move |other| [one, other])) {
                let (one, other) = (bytes(lengths[0], 37), bytes(lengths[1], 91));
                let byte = |of: &[u8], at: usize| of.get(at).copied().unwrap_or(0);
                let longest = one.len().max(other.len());
                let expected: Vec<_> =
                    (0..longest).map(|at| combine(byte(&one, at), byte(&other, at))).collect();
                let mut value = one;
                combination.add(&mut value, &other);
                assert_eq!(value, expected, "{lengths:?}");
            }
        }
    }
}
