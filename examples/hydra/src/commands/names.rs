//! The names of all commands, and how a command is found by its name.

use crate::commands::catalog::COMMANDS;
use crate::commands::table::Command;

/// So many places that most commands are at the first place that is looked at.
const PLACES: usize = 1024;

/// The names of commands as numbers, and their indices, each at the place that its number determines or after it; 0 at
/// free places.
static NAMES: [(u128, u8); PLACES] = {
    let mut names = [(0, 0); PLACES];
    let mut index = 0;
    while index < COMMANDS.len() {
        let number = number(COMMANDS[index].name.as_bytes());
        let mut place = place(number);
        while names[place].0 != 0 {
            place = (place + 1) % PLACES;
        }
        names[place] = (number, index as u8);
        index += 1;
    }
    names
};

/// The bytes of a name, of which there are 1 to 16, the first of them lowest. They are read in two pieces, which may
/// overlap: what is copied to memory piece by piece and read as a whole makes a processor wait.
const fn number(name: &[u8]) -> u128 {
    let length = name.len();
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        u64::from_le_bytes(*first) as u128 | (u64::from_le_bytes(*last) as u128) << (8 * (length - 8))
    } else if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        u32::from_le_bytes(*first) as u128 | (u32::from_le_bytes(*last) as u128) << (8 * (length - 4))
    } else if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        u16::from_le_bytes(*first) as u128 | (u16::from_le_bytes(*last) as u128) << (8 * (length - 2))
    } else {
        name[0] as u128
    }
}

/// With its letters in lower case: all bytes at once.
fn lower(name: u128) -> u128 {
    const ONES: u128 = u128::MAX / 255;
    const TOPS: u128 = 0x80 * ONES;
    // The top bit of each byte says whether it is: at most 0x7f, at least A, beyond Z.
    let rest = name & !TOPS;
    let (is_ascii, from_a, beyond_z) =
        (!name, rest + u128::from(0x80 - b'A') * ONES, rest + u128::from(0x7f - b'Z') * ONES);
    name | (is_ascii & from_a & !beyond_z & TOPS) >> 2
}

const fn place(name: u128) -> usize {
    let folded = (name as u64 ^ (name >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (folded >> 32) as usize % PLACES
}

/// The command of a name, in upper or lower case.
#[inline]
pub fn command(name: &[u8]) -> Option<&'static Command> {
    if name.is_empty() || name.len() > 16 {
        return None;
    }
    let number = lower(number(name));
    let mut place = place(number);
    loop {
        match NAMES[place] {
            (0, _) => return None,
            (other, index) if other == number => return Some(&COMMANDS[usize::from(index)]),
            _ => place = (place + 1) % PLACES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_name_is_put_in_lower_case_as_by_the_standard_library() {
        for length in 1..=16 {
            for byte in 0..=u8::MAX {
                let name = [b'Q'; 16].map(|letter| letter ^ byte);
                let mut expected = [0; 16];
                expected[..length].copy_from_slice(&name[..length]);
                assert_eq!(number(&name[..length]), u128::from_le_bytes(expected));
                assert_eq!(
                    lower(u128::from_le_bytes([byte; 16])).to_le_bytes(),
                    [byte.to_ascii_lowercase(); 16]
                );
            }
        }
    }

    #[test]
    fn every_command_is_found_by_its_name() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        for other in &COMMANDS {
            let found = command(other.name.to_uppercase().as_bytes());
            assert!(found.is_some_and(|found| std::ptr::eq(found, other)), "{}", other.name);
        }
        assert!(
            command(b"").is_none()
                && command(b"ge").is_none()
                && command(&[b'a'; 40]).is_none()
                && command(&[0; 16]).is_none()
        );
    }
}
