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
        let name = COMMANDS[index].name.as_bytes();
        let (mut number, mut at) = (0, 0);
        while at < name.len() {
            number |= (name[at] as u128) << (8 * at);
            at += 1;
        }
        let mut place = place(number);
        while names[place].0 != 0 {
            place = (place + 1) % PLACES;
        }
        names[place] = (number, index as u8);
        index += 1;
    }
    names
};

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
    let mut lower = [0; 16];
    lower[..name.len()].copy_from_slice(name);
    lower.make_ascii_lowercase();
    let number = u128::from_le_bytes(lower);
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
