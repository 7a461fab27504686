//! Replicated values: read everywhere without a request, replaced as a whole, freed on all nodes with the last handle.

use gossamer::{
    Decoder, Encoder, Malformed, NoRef, Reason, Replicated, Trust, Trustee, entrust, join_all, rack,
    spawn_on_with,
};
use integration_tests::{
    Counted, Tally, in_runtime, near_and_far, on_nodes, panic_text, wait_until, watched, workers,
};
use std::sync::OnceLock;
use std::sync::mpsc;

/// Runs `body` on one worker, on several, and on racks of two and of four nodes.
fn everywhere(body: fn()) {
    in_runtime(1, body);
    in_runtime(4, body);
    on_nodes(2, 2, body);
    on_nodes(4, 1, body);
}

/// What each worker of all nodes gets from a value.
fn on_all<T: NoRef + Sync + Clone, U: NoRef>(
    value: &Replicated<T>,
    f: impl FnOnce(Replicated<T>) -> U + Send + Copy + 'static,
) -> Vec<U> {
    join_all(Trustee::all().into_iter().map(|there| spawn_on_with(there, f, value.clone())))
}

#[test]
fn a_value_is_read_on_every_worker_of_every_node_and_replaced_on_all() {
    everywhere(|| {
        let words = Replicated::new(vec!["one".to_owned(), "two".to_owned()]);
        let read =
            const { |words: Replicated<Vec<String>>| (words.read().version(), words.read().join(" ")) };
        assert!(on_all(&words, read).iter().all(|seen| *seen == (1, "one two".to_owned())));
        for round in 0..20 {
            words.replace(vec![format!("round {round}")]);
            assert!(on_all(&words, read).iter().all(|seen| *seen == (round + 2, format!("round {round}"))));
        }
    });
}

#[test]
fn a_replacement_from_any_worker_is_seen_on_all_when_it_returns() {
    everywhere(|| {
        let number = Replicated::new(0_usize);
        for there in Trustee::all() {
            let replace = const { |(number, index): (Replicated<usize>, usize)| number.replace(index) };
            spawn_on_with(there, replace, (number.clone(), there.index())).join();
            let read = const { |number: Replicated<usize>| *number.read() };
            assert!(on_all(&number, read).iter().all(|seen| *seen == there.index()));
        }
    });
}

#[test]
fn it_is_read_where_nothing_can_wait() {
    on_nodes(2, 1, || {
        let factor = Replicated::new(3_u64);
        for there in Trustee::all() {
            let number = there.entrust(5_u64);
            let times = const { |number: &mut u64, factor: Replicated<u64>| *number * *factor.read() };
            assert_eq!(number.apply_with(times, factor.clone()), 15);
        }
    });
}

#[test]
fn readers_never_see_an_older_version_or_half_a_value_while_it_is_replaced() {
    everywhere(|| {
        const LAST: u64 = 40;
        let row = Replicated::new(vec![1_u64; 64]);
        let watch = const {
            |row: Replicated<Vec<u64>>| {
                let (mut newest, mut reads) = (0, 0_u64);
                while newest < LAST {
                    let now = row.read();
                    assert!(now.version() >= newest, "version {} after {newest}", now.version());
                    assert!(now.iter().all(|number| *number == now.version()), "half a value");
                    newest = now.version();
                    drop(now);
                    reads += 1;
                    gossamer::yield_now();
                }
                reads
            }
        };
        let watchers: Vec<_> =
            Trustee::all().into_iter().map(|there| spawn_on_with(there, watch, row.clone())).collect();
        (2..=LAST).for_each(|number| row.replace(vec![number; 64]));
        assert!(join_all(watchers).iter().all(|reads| *reads > 0));
    });
}

#[test]
fn replacements_from_all_workers_at_once_leave_the_same_on_all() {
    everywhere(|| {
        let number = Replicated::new(0_usize);
        let replace = const {
            |number: Replicated<usize>| {
                for round in 0..25 {
                    let before = number.read().version();
                    number.replace(Trustee::here().index() * 100 + round);
                    assert!(number.read().version() > before);
                }
            }
        };
        on_all(&number, replace);
        let seen =
            on_all(&number, const { |number: Replicated<usize>| (number.read().version(), *number.read()) });
        assert!(seen.iter().all(|other| *other == seen[0]), "{seen:?}");
        assert_eq!(seen[0].0, 1 + 25 * Trustee::all().len() as u64);
    });
}

#[test]
fn it_is_replaced_without_waiting_too() {
    everywhere(|| {
        let number = Replicated::new(0);
        join_all((1..=5).map(|next| number.replace_async(next)));
        assert_eq!((number.read().version(), *number.read()), (6, 5));

        let (property, told) = (entrust(()), gossamer::sync::Notify::new());
        let replace_there = |(): &mut (), (number, told): (Replicated<i32>, gossamer::sync::Notify)| {
            number.clone().replace_then(7, move || {
                assert_eq!(*number.read(), 7);
                told.notify_one();
            });
        };
        property.apply_with(replace_there, (number.clone(), told.clone()));
        told.notified();
        let read = const { |number: Replicated<i32>| *number.read() };
        assert!(on_all(&number, read).iter().all(|seen| *seen == 7));
    });
}

#[test]
fn a_snapshot_stays_as_it_is() {
    everywhere(|| {
        let number = Replicated::new(1);
        let kept: Vec<_> = (2..20).map(|next| (number.read(), number.replace(next)).0).collect();
        assert!(kept.iter().zip(1..).all(|(snapshot, number)| **snapshot == number));
    });
}

/// Travels, and counts each copy.
#[derive(Clone, Debug)]
struct Copied(#[expect(dead_code, reason = "it counts")] Counted);

/// One tally for all tests would mix their counts, so these values belong to one test.
fn copies() -> &'static Tally {
    static COPIES: OnceLock<&'static Tally> = OnceLock::new();
    COPIES.get_or_init(Tally::new)
}

// SAFETY: as that of `Counted`, each copy of which belongs to itself.
unsafe impl NoRef for Copied {
    fn encode(self, to: &mut Encoder) {
        0_u8.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        u8::decode(from).map(|_| Self(copies().value()))
    }
}

#[test]
fn all_nodes_drop_their_copies_with_the_last_handle_or_snapshot() {
    everywhere(|| {
        let nodes = rack::nodes().len();
        let alive = || copies().made() - copies().dropped();
        let value = Replicated::new(Copied(copies().value()));
        assert_eq!(alive(), nodes);
        (0..10).for_each(|_| value.replace(Copied(copies().value())));
        assert_eq!(alive(), nodes);

        // The last handle is dropped on each worker in turn, out of a property.
        for there in Trustee::all() {
            let value = Replicated::new(Copied(copies().value()));
            let property = there.entrust(Some(value.clone()));
            drop(value);
            assert_eq!(alive(), 2 * nodes);
            let read =
                const { |value: &mut Option<Replicated<Copied>>| value.take().unwrap().read().version() };
            assert_eq!(property.apply(read), 1);
            wait_until(|| alive() == nodes);
        }

        let snapshot = value.read();
        drop(value);
        wait_until(|| alive() == 1);
        assert_eq!(snapshot.version(), 11);
        drop(snapshot);
        wait_until(|| copies().is_even());
    });
}

#[test]
fn what_is_kept_to_the_end_is_dropped_then() {
    for nodes in [1, 3] {
        let tally = Tally::new();
        watched(move || {
            rack::run_in_process(nodes, workers(1), move || {
                let trust = entrust(tally.value());
                integration_tests::keep_for_ever(Replicated::new(trust));
            });
            wait_until(|| tally.is_even());
        });
    }
}

#[test]
fn a_handle_that_outlives_its_runtime_is_read_and_not_replaced() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        gossamer::run(workers(2), move || sender.send(Replicated::new(5)).unwrap());
        let value = receiver.recv().unwrap();
        assert_eq!(*value.read(), 5);
        assert_eq!(*value.try_replace(6).unwrap_err().reason(), Reason::Ended);
        assert_eq!(*value.read(), 5);
    });
}

/// Some of these values leave their node, and one cannot be decoded where it arrives.
#[derive(Clone, Debug, NoRef)]
enum Odd {
    Plain(u64),
    Stays(Counted),
    Bad(Unreadable),
}

#[derive(Clone, Debug)]
struct Unreadable;

// SAFETY: it is empty.
unsafe impl NoRef for Unreadable {
    fn encode(self, to: &mut Encoder) {
        0_u8.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        u8::decode(from).map(|_| panic!("not to be read"))
    }
}

fn plain(odd: Replicated<Odd>) -> u64 {
    match &*odd.read() {
        Odd::Plain(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_that_cannot_leave_its_node_is_refused_and_changes_nothing() {
    on_nodes(3, 1, || {
        let tally = Tally::new();
        let error = Replicated::try_new(Odd::Stays(tally.value())).unwrap_err();
        assert!(matches!(error.reason(), Reason::Stays { .. }), "{error}");
        assert!(error.to_string().contains("Counted"), "{error}");
        assert!(error.to_string().contains(file!()), "{error}");

        let odd = Replicated::new(Odd::Plain(1));
        let error = odd.try_replace(Odd::Stays(tally.value())).unwrap_err();
        assert!(matches!(error.reason(), Reason::Stays { .. }), "{error}");
        let text = panic_text(|| odd.replace(Odd::Stays(tally.value())));
        assert!(text.contains("cannot leave the node"), "{text}");
        assert!(odd.replace_async(Odd::Stays(tally.value())).try_wait().is_err());
        assert_eq!(on_all(&odd, plain), [1; 3]);
        odd.replace(Odd::Plain(2));
        assert_eq!(on_all(&odd, plain), [2; 3]);
        wait_until(|| tally.is_even());
    });
    in_runtime(2, || {
        let tally = Tally::new();
        drop(Replicated::new(tally.value()).read().clone());
        wait_until(|| tally.is_even());
    });
}

#[test]
fn a_value_that_cannot_be_read_is_an_error_and_the_next_one_comes_everywhere() {
    on_nodes(3, 1, || {
        let odd = Replicated::new(Odd::Plain(1));
        let error = odd.try_replace(Odd::Bad(Unreadable)).unwrap_err();
        assert!(error.to_string().contains("not to be read"), "{error}");
        assert_eq!(plain(odd.clone()), 1);
        odd.replace(Odd::Plain(2));
        assert_eq!(on_all(&odd, plain), [2; 3]);
        let error = Replicated::try_new(Odd::Bad(Unreadable)).unwrap_err();
        assert!(error.to_string().contains("not to be read"), "{error}");
    });
}

#[test]
fn a_value_may_hold_trusts_which_each_node_uses() {
    everywhere(|| {
        let tally = Tally::new();
        let (sum, counted) = (entrust(0_usize), entrust(tally.value()));
        let trusts = Replicated::new((sum.clone(), counted));
        let add = const {
            |trusts: Replicated<(Trust<usize>, Trust<Counted>)>| {
                let trusts = trusts.read();
                trusts.1.apply(const { |_: &mut Counted| () });
                trusts.0.apply(const { |sum: &mut usize| *sum += 1 });
            }
        };
        on_all(&trusts, add);
        assert_eq!(sum.apply(|sum| *sum), Trustee::all().len());
        trusts.replace((sum.clone(), entrust(tally.value())));
        wait_until(|| tally.dropped() == 1);
        on_all(&trusts, add);
        drop(trusts);
        wait_until(|| tally.is_even());
    });
}

#[test]
fn a_large_value_comes_to_all_nodes() {
    on_nodes(4, 1, || {
        let table = Replicated::new((0..3_000_000_u64).collect::<Vec<_>>());
        let sum = const { |table: Replicated<Vec<u64>>| (table.read().len(), table.read()[2_999_999]) };
        assert_eq!(on_all(&table, sum), [(3_000_000, 2_999_999); 4]);
    });
}

#[test]
fn making_one_where_nothing_can_wait_is_refused_with_advice() {
    near_and_far(|there| {
        let text = panic_text(|| there.entrust(0).apply(|_| drop(Replicated::new(1))));
        assert!(text.contains("blocking `Replicated::new` inside a delegated closure"), "{text}");
    });
    let text = panic_text(|| Replicated::new(1));
    assert!(text.contains("`Replicated::new` on a thread that is not a worker of a runtime"), "{text}");
}
