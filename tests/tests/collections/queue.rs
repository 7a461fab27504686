//! Queues of work that makes more work.

use gossamer::collections::{DistQueue, DistVec, Layout};
use gossamer::{NoRef, Trust, Trustee, entrust, sleep, spawn_local, spawn_on, yield_now};
use integration_tests::{Tally, in_runtime, on_nodes, panic_text, wait_until};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

#[test]
fn each_item_and_what_follows_from_it_is_done_once() {
    in_runtime(1, || tree(20_000));
    in_runtime(4, || tree(4000));
    on_nodes(2, 1, || tree(500));
}

/// Node `n` of a binary tree has the nodes `2 n` and `2 n + 1` below it.
#[gossamer::delegate]
fn tree(nodes: usize) {
    let (queue, visits) = (DistQueue::new(), DistVec::filled(Layout::cyclic(nodes), 0_u64));
    let there = visits.clone();
    // An empty queue is done at once.
    queue.par_for_each(|_: usize, _| unreachable!("there is no item"));
    for rounds in 1..3 {
        queue.push(1);
        assert_eq!(queue.len(), 1);
        let there = there.clone();
        queue.par_for_each(move |node, more| {
            there.update(node, |visits| *visits += 1);
            more.extend([2 * node, 2 * node + 1].into_iter().filter(|below| *below < nodes));
        });
        assert!(queue.is_empty());
        let visits = visits.to_vec();
        assert!(visits[0] == 0 && visits[1..].iter().all(|visits| *visits == rounds));
    }
}

#[test]
fn workers_without_work_take_from_those_that_have_some() {
    in_runtime(2, share);
    on_nodes(2, 1, share);
}

#[gossamer::delegate]
fn share() {
    let (queue, done) = (DistQueue::new(), DistVec::filled(Trustee::all().len(), 0_u64));
    queue.extend(0..1000_u64);
    let there = done.clone();
    // The last item is the first to be taken, and takes until all others are done elsewhere.
    queue.par_for_each(move |number, _| {
        there.update(Trustee::here().index(), |done| *done += 1);
        while number == 999 && there.to_vec().into_iter().sum::<u64>() < 900 {
            yield_now();
        }
    });
    let done = done.to_vec();
    assert!(done.iter().sum::<u64>() == 1000 && done.iter().all(|done| *done > 0), "{done:?}");
}

#[test]
fn after_few_items_that_take_long_the_other_fibers_of_the_worker_run() {
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    static SEEN: AtomicU64 = AtomicU64::new(0);
    static IN_A_ROW: AtomicU64 = AtomicU64::new(0);
    static MOST: AtomicU64 = AtomicU64::new(0);
    fn item(takes_long: bool, _: &mut Vec<bool>) {
        let begin = Instant::now();
        while takes_long && begin.elapsed() < Duration::from_micros(200) {}
        let rounds = ROUNDS.load(Relaxed);
        if takes_long && SEEN.swap(rounds, Relaxed) == rounds {
            MOST.fetch_max(IN_A_ROW.fetch_add(1, Relaxed) + 1, Relaxed);
        } else {
            IN_A_ROW.store(u64::from(takes_long), Relaxed);
        }
    }
    in_runtime(1, || {
        let other = spawn_local(|| {
            while ROUNDS.fetch_add(1, Relaxed) < u64::MAX / 2 {
                yield_now();
            }
        });
        let queue = DistQueue::new();
        // The last ones come first, and do not make it expect that the others are fast, too.
        queue.extend([true; 100].into_iter().chain([false; 1000]));
        queue.par_for_each(item);
        ROUNDS.store(u64::MAX / 2, Relaxed);
        other.join();
        assert!(MOST.load(Relaxed) <= 9, "{MOST:?} items in a row");
    });
}

#[test]
fn items_of_all_workers_are_found() {
    on_nodes(2, 2, from_everywhere);
}

#[gossamer::delegate]
fn from_everywhere() {
    let (queue, sum) = (DistQueue::new(), gossamer::entrust(0_u64));
    let fibers = Trustee::all().into_iter().zip(0_u64..).map(|(trustee, number)| {
        let queue = queue.clone();
        spawn_on(trustee, move || queue.extend([number, number + 10]))
    });
    let fibers: Vec<_> = fibers.collect();
    fibers.into_iter().for_each(|fiber| fiber.join());
    assert_eq!(queue.len(), 8);
    let there = sum.clone();
    queue.par_for_each(move |number, _| there.apply(move |sum| *sum += number));
    assert_eq!(sum.apply(|sum| *sum), 2 * 6 + 40);
}

#[test]
fn after_a_panic_what_is_left_stays_in_the_queue() {
    in_runtime(2, || {
        let (queue, tally) = (DistQueue::new(), Tally::new());
        queue.extend((0..1000_u64).map(|number| (number, tally.value())));
        let text = panic_text(|| {
            queue.par_for_each(|(number, value), more| {
                if number % 2 == 0 {
                    more.push((number + 1, value));
                }
                assert!(number != 555, "not this one");
            });
        });
        assert!(text.contains("not this one") && text.contains("queue.rs"), "{text}");
        queue.par_for_each(|_, _| ());
        assert!(queue.is_empty());
        wait_until(|| tally.is_even());
    });
}

#[gossamer::delegate]
fn loop_twice_at_once() {
    let (queue, done) = (DistQueue::new(), entrust(0_usize));
    queue.extend(0..1000);
    let (other, counted) = (queue.clone(), done.clone());
    let fiber = spawn_local(move || other.par_for_each_with(const { count_one }, counted));
    queue.par_for_each_with(const { count_one }, done.clone());
    fiber.join();
    assert_eq!((done.apply(|done| *done), queue.len()), (1000, 0));
}

fn count_one(_: i32, _: &mut Vec<i32>, done: &Trust<usize>) {
    done.apply(const { |done: &mut usize| *done += 1 });
}

#[test]
fn two_loops_over_a_queue_at_once_both_end() {
    in_runtime(2, || (0..20).for_each(|_| loop_twice_at_once()));
    on_nodes(2, 1, loop_twice_at_once);
}

#[gossamer::delegate]
fn loop_again_after_a_cancelled_one(round: usize) {
    let (queue, done) = (DistQueue::new(), entrust(0_usize));
    queue.extend(0..1000);
    let (cancelled, counted) = (queue.clone(), done.clone());
    let fiber = spawn_local(move || cancelled.par_for_each_with(const { count_one }, counted));
    (0..round % 40).for_each(|_| yield_now());
    fiber.cancel();
    let _ = fiber.try_join();
    queue.par_for_each_with(const { count_one }, done.clone());
    assert_eq!((done.apply(|done| *done), queue.len()), (1000, 0), "round {round}");
}

#[test]
fn a_loop_over_a_queue_begins_when_one_that_was_cancelled_has_ended() {
    in_runtime(2, || (0..200).for_each(loop_again_after_a_cancelled_one));
    on_nodes(2, 1, || (0..40).for_each(loop_again_after_a_cancelled_one));
}

#[gossamer::delegate]
fn drain_between_loops() {
    let (queue, done) = (DistQueue::new(), entrust(0_usize));
    queue.extend(0..1000);
    let (looped, counted) = (queue.clone(), done.clone());
    let fiber = spawn_local(move || looped.par_for_each_with(const { count_one }, counted));
    yield_now();
    // Before the loop begins, or when it has ended.
    let left = queue.drain();
    fiber.join();
    assert_eq!(done.apply(|done| *done) + left.len(), 1000);
    queue.extend(0..10);
    let mut items = queue.drain();
    items.sort_unstable();
    assert_eq!((items, queue.len()), ((0..10).collect(), 0));
}

#[test]
fn what_is_drained_is_not_done_by_a_loop_and_the_loop_ends() {
    in_runtime(2, || (0..100).for_each(|_| drain_between_loops()));
    on_nodes(2, 1, drain_between_loops);
}

#[test]
fn an_item_that_would_wait_for_its_own_loop_is_refused() {
    fn looped(_: u64, _: &mut Vec<u64>, queue: &DistQueue<u64>) {
        queue.par_for_each(const { |_: u64, _: &mut Vec<u64>| () });
    }
    fn drained(_: u64, _: &mut Vec<u64>, queue: &DistQueue<u64>) {
        drop(queue.drain());
    }
    fn other(_: u64, _: &mut Vec<u64>, queue: &DistQueue<u64>) {
        let another = DistQueue::new();
        another.push(1);
        another.par_for_each_with(
            const {
                |_: u64, _: &mut Vec<u64>, queue: &DistQueue<u64>| {
                    queue.push(1);
                }
            },
            queue.clone(),
        );
    }
    in_runtime(2, || {
        let queue = DistQueue::new();
        queue.push(0);
        let first = panic_text(|| queue.par_for_each_with(looped, queue.clone()));
        queue.push(0);
        let second = panic_text(|| queue.par_for_each_with(drained, queue.clone()));
        for text in [first, second] {
            assert!(text.contains("would wait for itself") && text.contains("queue.rs"), "{text}");
        }
        let (queue, filled) = (DistQueue::new(), DistQueue::new());
        queue.push(0);
        queue.par_for_each_with(other, filled.clone());
        assert_eq!(filled.drain(), [1]);
    });
}

#[test]
fn a_queue_is_printed_with_its_workers_and_some_items() {
    in_runtime(2, || {
        let queue = DistQueue::new();
        assert_eq!(format!("{queue:?}"), "DistQueue(0 items over 2 workers)[]");
        queue.extend(["tea", "milk"].map(str::to_owned));
        assert_eq!(format!("{queue:?}"), "DistQueue(2 items over 2 workers)[\"tea\", \"milk\"]");
        queue.extend((0..20).map(|number| number.to_string()));
        let text = format!("{queue:?}");
        assert!(text.starts_with("DistQueue(22 items") && text.ends_with("\"5\", ..]"), "{text}");
        let text = entrust(queue).apply(|queue| format!("{queue:?}"));
        assert_eq!(text, "DistQueue(over 2 workers)");
    });
}

/// A key that is hashed on the first worker only.
#[derive(NoRef, PartialEq, Eq)]
struct Homebound(u64);

impl Hash for Homebound {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert_eq!(Trustee::here().index(), 0, "it is hashed on no other worker");
        self.0.hash(state);
    }
}

#[test]
fn a_loop_ends_though_an_item_that_another_worker_takes_does_not_arrive() {
    on_nodes(2, 1, || {
        let queue: DistQueue<HashSet<Homebound>> = DistQueue::new();
        queue.extend((0..60).map(|key| HashSet::from([Homebound(key)])));
        let wait = const { |_: HashSet<Homebound>, _: &mut Vec<_>| sleep(Duration::from_millis(1)) };
        let text = panic_text(|| queue.par_for_each(wait));
        assert!(text.contains("it is hashed on no other worker"), "{text}");
    });
}
