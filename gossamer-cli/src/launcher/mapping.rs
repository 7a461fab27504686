//! Which machine each node is on.

use crate::exit::{Failure, USAGE};
use crate::rack::config::Machine;
use std::str::FromStr;

/// The most nodes of an application.
pub const MOST_NODES: usize = 4096;

/// How nodes are mapped to machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// Dealt out in turn.
    #[default]
    Turns,
    /// This many on each machine, one machine after the other.
    PerMachine(usize),
    /// As many on each machine as it has slots, one machine after the other.
    Slots,
    /// As this list says: machines, and how many nodes follow each other there.
    List(Vec<(String, usize)>),
}

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "turns" => return Ok(Self::Turns),
            "slots" => return Ok(Self::Slots),
            _ => {}
        }
        let entry = |entry: &str| {
            let (name, count) = entry.split_once(':').unwrap_or((entry, "1"));
            let count = count.parse().ok().filter(|count| (1..=MOST_NODES).contains(count));
            count.filter(|_| !name.is_empty()).map(|count| (name.to_owned(), count))
        };
        let list: Option<Vec<_>> = text.split(',').map(entry).collect();
        list.map(Self::List)
            .ok_or_else(|| "is not `turns`, `slots` or a list of machines such as a,a,b or a:2,b".to_owned())
    }
}

impl Mapping {
    /// The machines that the mapping names; empty if it applies to all machines.
    #[must_use]
    pub fn machines(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if let Self::List(list) = self {
            for (name, _) in list {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// The machine of each node, as an index into `machines`. If `nodes` does not say how many, there are as many as
    /// there is room for.
    ///
    /// # Errors
    /// If there is not enough room.
    pub fn assign(&self, machines: &[Machine], nodes: Option<usize>) -> Result<Vec<usize>, Failure> {
        let filled = |room: &dyn Fn(&Machine) -> usize| -> Vec<usize> {
            let places = machines.iter().enumerate();
            places.flat_map(|(index, machine)| std::iter::repeat_n(index, room(machine))).collect()
        };
        let places = match self {
            Self::Turns => {
                return Ok((0..nodes.unwrap_or(machines.len())).map(|node| node % machines.len()).collect());
            }
            Self::PerMachine(count) => filled(&|_| *count),
            Self::Slots => filled(&|machine| usize::try_from(machine.slots).unwrap_or(usize::MAX)),
            Self::List(list) => {
                let mut places = Vec::new();
                for (name, count) in list {
                    let index = machines.iter().position(|machine| machine.name == *name);
                    let index = index.ok_or_else(|| {
                        Failure::new(USAGE, format!("--map names {name}, and --hosts does not"))
                    })?;
                    places.extend(std::iter::repeat_n(index, *count));
                }
                places
            }
        };
        self.take(places, nodes)
    }

    /// The first places, for this many nodes.
    fn take(&self, mut places: Vec<usize>, nodes: Option<usize>) -> Result<Vec<usize>, Failure> {
        let (room, wanted) = (places.len(), nodes.unwrap_or(places.len()));
        let wrong = |what: String| Err(Failure::new(USAGE, what));
        match self {
            Self::List(_) if wanted != room => {
                return wrong(format!("--map lists {room} nodes, and -n says {wanted}: leave -n out"));
            }
            Self::Slots if wanted > room => {
                return wrong(format!(
                    "{wanted} nodes do not fit: the machines have {room} slots (`slots` of each [[machine]], 1 without it)"
                ));
            }
            _ if wanted > room => {
                return wrong(format!("{wanted} nodes do not fit: --per-machine leaves room for {room}"));
            }
            _ if wanted > MOST_NODES => {
                return wrong(format!("{wanted} nodes are more than {MOST_NODES}: give -n"));
            }
            _ => places.truncate(wanted),
        }
        Ok(places)
    }
}

/// Leaves out machines without nodes: returns the machines that are left, and the machine of each node among them.
#[must_use]
pub fn only_used(machines: Vec<Machine>, assignment: &[usize]) -> (Vec<Machine>, Vec<usize>) {
    let used: Vec<usize> = (0..machines.len()).filter(|index| assignment.contains(index)).collect();
    let place = |at: &usize| used.iter().position(|index| index == at).unwrap_or(0);
    let assignment = assignment.iter().map(place).collect();
    let machines = machines.into_iter().enumerate().filter(|(index, _)| used.contains(index));
    (machines.map(|(_, machine)| machine).collect(), assignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(slots: &[u32]) -> Vec<Machine> {
        let machine = |(index, slots): (usize, &u32)| Machine {
            name: char::from(b'a' + index as u8).to_string(),
            address: String::new(),
            slots: *slots,
        };
        slots.iter().enumerate().map(machine).collect()
    }

    fn assigned(mapping: &str, nodes: Option<usize>) -> Result<Vec<usize>, String> {
        let machines = machines(&[2, 1, 3]);
        mapping.parse::<Mapping>()?.assign(&machines, nodes).map_err(|failure| failure.message)
    }

    #[test]
    fn nodes_are_mapped_in_turn_by_slots_or_as_listed() {
        assert_eq!(assigned("turns", None), Ok(vec![0, 1, 2]));
        assert_eq!(assigned("turns", Some(5)), Ok(vec![0, 1, 2, 0, 1]));
        assert_eq!(assigned("slots", None), Ok(vec![0, 0, 1, 2, 2, 2]));
        assert_eq!(assigned("slots", Some(3)), Ok(vec![0, 0, 1]));
        assert_eq!(assigned("c,a:2,c", None), Ok(vec![2, 0, 0, 2]));
        assert_eq!(Mapping::PerMachine(2).assign(&machines(&[1, 1]), None).unwrap(), [0, 0, 1, 1]);
        assert_eq!(Mapping::PerMachine(2).assign(&machines(&[1, 1]), Some(3)).unwrap(), [0, 0, 1]);
    }

    #[test]
    fn what_does_not_fit_is_a_mistake() {
        assert!(assigned("slots", Some(7)).unwrap_err().contains("6 slots"));
        assert!(assigned("a,b", Some(3)).unwrap_err().contains("leave -n out"));
        assert!(Mapping::PerMachine(2).assign(&machines(&[1]), Some(3)).is_err());
        assert!(Mapping::PerMachine(4096).assign(&machines(&[1, 1]), None).is_err());
        for wrong in ["", "a,,b", "a:0", "a:x", ":2", "a:9999"] {
            assert!(wrong.parse::<Mapping>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn machines_without_nodes_are_left_out() {
        let (left, assignment) = only_used(machines(&[1, 1, 1]), &[2, 0, 2]);
        assert_eq!(left.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(assignment, [1, 0, 1]);
    }
}
