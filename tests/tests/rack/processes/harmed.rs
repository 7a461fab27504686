//! A relay between nodes that repeats, reorders, mixes and adds messages at random moments, at each level of protection.

use super::relayed::{Carry, Way, all_errors, can_rename, relayed};
use integration_tests::watched;
use std::sync::{Arc, Mutex};

/// What is done to a piece of bytes that came together.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// They are sent twice.
    Repeat,
    /// Their second half comes first.
    Reorder,
    /// The last piece of another way is sent instead.
    Mix,
    /// The last piece of another way is sent after it.
    Add,
    /// The first piece of this way, which proves the token, is sent again.
    Replay,
}

const HARMS: [Harm; 5] = [Harm::Repeat, Harm::Reorder, Harm::Mix, Harm::Add, Harm::Replay];

/// What is known about all ways.
#[derive(Default)]
struct Seen {
    last: Vec<(Way, Vec<u8>)>,
    is_harmed: bool,
}

/// Does it once, on this way, after this many bytes have passed.
fn harming(harm: Harm, on: Way, place: usize) -> (impl Fn(Way) -> Carry, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    let change = move |way: Way| -> Carry {
        let (seen, mut passed, mut first) = (Arc::clone(&shared), 0, Vec::new());
        Box::new(move |bytes| {
            let mut seen = seen.lock().unwrap();
            let other =
                seen.last.iter().rev().find(|(other, _)| *other != way).map(|(_, bytes)| bytes.clone());
            seen.last.retain(|(known, _)| *known != way);
            seen.last.push((way, bytes.to_vec()));
            let other = other.filter(|other| other != bytes).unwrap_or_else(|| vec![0; bytes.len()]);
            if first.is_empty() {
                first = bytes.to_vec();
            }
            passed += bytes.len();
            if way != on || passed < place || seen.is_harmed {
                return bytes.to_vec();
            }
            seen.is_harmed = true;
            match harm {
                Harm::Repeat => [bytes, bytes].concat(),
                Harm::Reorder => {
                    let (front, back) = bytes.split_at(bytes.len() / 2);
                    [back, front].concat()
                }
                Harm::Mix => other,
                Harm::Add => [bytes, &other].concat(),
                Harm::Replay => [bytes, &first].concat(),
            }
        })
    };
    (change, seen)
}

#[test]
fn what_is_repeated_reordered_mixed_or_added_between_nodes_is_never_used() {
    if !can_rename() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(4);
    for run in 0..15 {
        let (harm, level) =
            (HARMS[run % HARMS.len()], ["checked", "authenticated", "encrypted"][run / HARMS.len()]);
        let way = Way { lanes: run % 4 != 3, up: random.bool() };
        let place = if way.lanes { random.usize(200..40_000) } else { random.usize(1..900) };
        watched(move || {
            let (change, seen) = harming(harm, way, place);
            let ended = relayed("requests", &[("REQUESTS", "2000"), ("GOSSAMER_PROTECTION", level)], change);
            let (errors, is_harmed) = (all_errors(&ended), seen.lock().unwrap().is_harmed);
            let what = format!("{harm:?}, {level}, {way:?}, {place}: {errors}");
            assert!(["", "1999000\n"].contains(&ended[0].output.as_str()), "{what}: {}", ended[0].output);
            let fails = ended.iter().filter(|node| !node.status.success()).count();
            if !is_harmed {
                assert_eq!((fails, ended[0].output.is_empty()), (0, false), "{what}");
            } else if way.lanes {
                assert_eq!((fails, ended[0].output.is_empty()), (2, true), "{what}");
            }
            assert!(fails == 0 || !errors.is_empty(), "{what}");
            assert!(ended.iter().all(|node| node.status.code().is_some()), "{what}");
        });
    }
}
