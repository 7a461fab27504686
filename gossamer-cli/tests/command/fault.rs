//! Which node is at fault: all cases in one table, in every order in which ends may become known.

use gossamer_cli::launcher::fault::Fault::{self, Failed, Lost, LostEachOther};
use gossamer_cli::launcher::fault::fault;
use gossamer_cli::node::ending::{End, How};

/// The end of a node, and its report.
type Heard = (usize, How, &'static str);

const KILLED: How = How::Killed { signal: 9, core: false };
const LOST: How = How::Exited(75);
const NOT_STARTED: How = How::Exited(2);
const PANIC: How = How::Exited(101);
const WELL: How = How::Exited(0);
const OF_0: &str = "because of node 0: node 0 (process 7 on a) is lost: its process ended";
const OF_1: &str = "because of node 1: node 1 (process 8 on a) is lost: its process ended";
const OF_2: &str = "because of node 2: node 2 (process 9 on b) is lost: it was silent for 10 s";
const NO_ANSWER: &str = "because of node 0: cannot start: node 0 at b:1 did not answer: end of file";

fn lost(node: usize, by: &[usize]) -> Fault {
    Lost { node, by: by.to_vec() }
}

/// What becomes known, in any order, and who is at fault.
fn cases() -> Vec<(&'static str, Vec<Heard>, Fault)> {
    let machine = || How::Lost("nothing was heard of its daemon for 10 s".into());
    vec![
        ("killed", vec![(1, KILLED, ""), (0, LOST, OF_1), (2, LOST, "")], Failed(1)),
        ("node 0 killed", vec![(0, KILLED, ""), (1, LOST, OF_0), (2, LOST, OF_0)], Failed(0)),
        (
            "node 0 killed in start-up",
            vec![(0, KILLED, ""), (1, NOT_STARTED, NO_ANSWER), (2, NOT_STARTED, NO_ANSWER)],
            Failed(0),
        ),
        ("killed in start-up", vec![(2, KILLED, ""), (0, LOST, OF_2), (1, NOT_STARTED, OF_2)], Failed(2)),
        (
            "killed, and an own status of a program that was told",
            vec![(0, KILLED, ""), (1, How::Exited(9), NO_ANSWER)],
            Failed(0),
        ),
        ("killed, and a program that hides it", vec![(0, KILLED, ""), (1, WELL, NO_ANSWER)], Failed(0)),
        (
            "cannot start by itself",
            vec![(1, NOT_STARTED, "cannot start: no threads"), (0, LOST, OF_1), (2, NOT_STARTED, OF_1)],
            Failed(1),
        ),
        ("a panic", vec![(0, PANIC, "main panicked: x"), (1, LOST, ""), (2, LOST, OF_0)], Failed(0)),
        ("an own status", vec![(1, How::Exited(3), ""), (0, LOST, OF_1)], Failed(1)),
        (
            "a status of another's mistake",
            vec![(1, How::Exited(70), "node 0 sent"), (0, LOST, OF_1)],
            Failed(1),
        ),
        ("a lost machine", vec![(2, machine(), ""), (0, LOST, OF_2), (1, LOST, OF_2)], Failed(2)),
        ("too early", vec![(1, WELL, ""), (0, LOST, OF_1), (2, LOST, OF_0)], Failed(1)),
        ("too early, because another was killed", vec![(1, WELL, ""), (2, KILLED, "")], Failed(2)),
        ("stopped", vec![(0, LOST, OF_2)], lost(2, &[0])),
        (
            "stopped, and its followers ended",
            vec![(0, LOST, OF_2), (1, LOST, ""), (3, LOST, "")],
            lost(2, &[0]),
        ),
        (
            "stopped, as one saw that another was told to have ended for",
            vec![(1, LOST, OF_2), (0, LOST, OF_1)],
            lost(2, &[1]),
        ),
        ("node 0 stopped", vec![(2, LOST, "because of node 0: silent")], lost(0, &[2])),
        (
            "stopped in start-up",
            vec![(0, NOT_STARTED, "because of node 3: cannot start: node 3 of 4 did not come")],
            lost(3, &[0]),
        ),
        ("a cut link", vec![(1, LOST, OF_2), (2, LOST, OF_1)], LostEachOther(1, 2)),
        (
            "a cut link, and node 0 that saw one end",
            vec![(1, LOST, OF_2), (2, LOST, OF_1), (0, LOST, OF_1)],
            LostEachOther(1, 2),
        ),
        ("nobody says why", vec![(2, LOST, "")], Failed(2)),
        ("a word that is none", vec![(1, LOST, "because of node x: y")], Failed(1)),
    ]
}

/// All orders of this many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |order: Vec<usize>| {
        (0..count).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, count - 1);
            longer
        })
    };
    orders(count - 1).into_iter().flat_map(insert).collect()
}

#[test]
fn causes_go_before_consequences_in_whatever_order_they_are_heard() {
    for (what, heard, expected) in cases() {
        let ends: Vec<(usize, End)> = heard
            .into_iter()
            .map(|(node, how, words)| {
                let words = (!words.is_empty()).then(|| words.to_owned());
                (node, End { how, words })
            })
            .collect();
        for order in orders(ends.len()) {
            let ordered: Vec<(usize, &End)> =
                order.iter().map(|&place| (ends[place].0, &ends[place].1)).collect();
            let mut found = fault(&ordered).unwrap();
            if let Lost { by, .. } = &mut found {
                by.sort_unstable();
            }
            assert_eq!(found, expected, "{what}, heard as {order:?}");
        }
    }
}

#[test]
fn of_several_causes_the_first_is_told_and_of_several_that_are_lost_the_one_that_most_have_lost() {
    let end = |how: &How, words: &str| End { how: how.clone(), words: Some(words.to_owned()) };
    let (killed, panic) = (end(&KILLED, ""), end(&PANIC, ""));
    assert_eq!(fault(&[(1, &killed), (0, &panic)]), Some(Failed(1)));
    assert_eq!(fault(&[(0, &panic), (1, &killed)]), Some(Failed(0)));
    let (of_2, of_3) = (end(&LOST, OF_2), end(&LOST, "because of node 3: silent"));
    assert_eq!(fault(&[(0, &of_3), (1, &of_2), (4, &of_2)]), Some(lost(2, &[1, 4])));
    assert_eq!(fault(&[(0, &of_3), (1, &of_2)]), Some(lost(3, &[0])));
    assert_eq!(
        fault(&[(0, &end(&NOT_STARTED, "because of node 2, 3: they did not come"))]),
        Some(lost(2, &[0]))
    );
    assert_eq!(fault(&[]), None);
}
