//! Requests that nobody waits for are sent in runs to other nodes, too: nobody can tell.

use gossamer::{NoRef, Trust, Trustee, entrust};
use integration_tests::{far, in_child, on_nodes, wait_until};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The numbers of the requests that a trustee has heard.
type Heard = Vec<u64>;

/// Sends requests of all kinds, some of them to another property, each kind so many times in a row that it fills several
/// batches. Returns how many there are.
#[gossamer::delegate]
fn send_all_kinds(heard: &Trust<Heard>, other: &Trust<u64>) -> u64 {
    let mut number = 0;
    for times in [1_u64, 2, 126, 127, 900, 2000] {
        for kind in 0..8 {
            for _ in 0..times {
                match kind {
                    0 => heard.apply_unawaited(|heard| heard.push(heard.len() as u64)),
                    1 => heard.apply_unawaited(move |heard| heard.push(number)),
                    2 => {
                        let words = [number; 32];
                        heard.apply_unawaited(move |heard| heard.push(words[31]));
                    }
                    3 => {
                        let words = vec![number; 3];
                        heard.apply_unawaited(move |heard| heard.push(words[2]));
                    }
                    4 => heard.apply_then(move |heard| heard.push(number), drop),
                    5 => {
                        other.apply_unawaited(move |sum| *sum += number);
                        heard.apply_unawaited(move |heard| heard.push(number));
                    }
                    // Two places in the source by turns.
                    6 if number % 2 == 0 => heard.apply_unawaited(move |heard| heard.push(number)),
                    6 => heard.apply_unawaited(move |heard| heard.push(number)),
                    // Padding is not sent: such arguments are encoded.
                    _ => {
                        let padded = (number, number as u8);
                        heard.apply_unawaited(move |heard| heard.push(padded.0));
                    }
                }
                number += 1;
            }
        }
    }
    number
}

#[gossamer::delegate]
fn keep_the_order() {
    let (other, from) = (far().entrust(0), entrust(()));
    for closure_sends in [false, true] {
        let heard = far().entrust(Heard::new());
        let sent = if closure_sends {
            let (heard, other) = (heard.clone(), other.clone());
            from.apply(move |()| send_all_kinds(&heard, &other))
        } else {
            send_all_kinds(&heard, &other)
        };
        wait_until(|| heard.apply(|heard| heard.len() as u64) == sent);
        assert!(heard.apply(|heard| heard.iter().copied().eq(0..heard.len() as u64)));
    }
}

#[test]
fn requests_of_all_kinds_that_nobody_waits_for_keep_their_order_between_nodes() {
    on_nodes(2, 1, keep_the_order);
}

/// Counts its drops where it ends up.
#[derive(NoRef)]
struct Value(u64);

static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Value {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends runs of many lengths in which requests at certain places panic.
#[gossamer::delegate]
fn send_beside_panics() {
    fn panics(way: u64, number: u64, length: u64) -> bool {
        [number == 0, number == length - 1, true, number % 2 == 1][way as usize]
    }
    let (from, mut values) = (entrust(()), 0);
    DROPPED.store(0, Ordering::Relaxed);
    for (way, length) in (0..4).flat_map(|way| [1, 2, 41, 42, 43, 300].map(|length| (way, length))) {
        let served = far().entrust((0_u64, Vec::new()));
        let (to, go_on) = (served.clone(), far().entrust(()));
        from.apply(move |()| {
            for number in 0..length {
                let value = Value(number);
                to.apply_unawaited(move |(served, kept)| {
                    *served += 1;
                    // Some have given their value away.
                    assert!(
                        !panics(way, number, length) || number % 3 == 0,
                        "expected in the output of this test"
                    );
                    kept.push(value);
                    assert!(!panics(way, number, length), "expected in the output of this test");
                });
            }
        });
        values += length as usize;
        wait_until(|| served.apply(|(served, _)| *served) == length);
        let kept = served.apply(|(_, kept)| kept.iter().map(|value| value.0).collect::<Vec<_>>());
        let expected = (0..length).filter(|number| !panics(way, *number, length) || number.is_multiple_of(3));
        assert_eq!(kept, expected.collect::<Vec<_>>());
        drop((served, go_on));
    }
    wait_until(|| DROPPED.load(Ordering::Relaxed) == values);
}

#[test]
fn requests_of_runs_that_panic_on_another_node_spare_the_others_and_each_value_is_dropped_once() {
    on_nodes(2, 1, send_beside_panics);
}

#[gossamer::delegate]
fn send_what_fails() {
    let number = far().entrust(0_u32);
    for index in 0..300_u32 {
        number.apply_unawaited(move |number| {
            *number += 1;
            assert!(index % 100 != 50, "number {index} unheard");
        });
    }
    wait_until(|| number.apply(|number| *number) == 300);
    // Errors come separately, behind the answer to what was sent last.
    gossamer::rack::wait_all();
}

#[test]
fn the_errors_of_a_run_on_another_node_are_all_reported_with_their_lines() {
    let ended = in_child(|_| (), || on_nodes(2, 1, send_what_fails));
    assert!(ended.status.success(), "{}", ended.errors);
    for index in [50, 150, 250] {
        let text = format!("number {index} unheard");
        let printed = |line: &&str| line.contains(&text) && line.matches(file!()).count() >= 2;
        assert!(ended.errors.lines().filter(printed).count() >= 3, "{}", ended.errors);
    }
}

/// What branches into more of itself, on all trustees: requests that send requests.
#[gossamer::delegate]
fn branch(counts: &[Trust<usize>], here: usize, depth: u32) {
    for child in 0..4 {
        let (counts, there) = (counts.to_vec(), (here + child) % counts.len());
        counts[there].clone().apply_unawaited(move |count| {
            *count += 1;
            if depth > 0 {
                branch(&counts, there, depth - 1);
            }
        });
    }
}

#[gossamer::delegate]
fn branch_from_everywhere() {
    let counts: Vec<_> = Trustee::all().iter().map(|there| there.entrust(0)).collect();
    branch(&counts, 0, 5);
    let all = (1..=6).map(|depth| 4_usize.pow(depth)).sum::<usize>();
    wait_until(|| counts.iter().map(|count| count.apply(|count| *count)).sum::<usize>() == all);
}

#[test]
fn runs_that_requests_send_while_they_are_served_arrive_on_all_nodes() {
    on_nodes(2, 2, branch_from_everywhere);
    on_nodes(3, 1, branch_from_everywhere);
}
