//! Loops, queues, counters and files on some of the workers.

use gossamer::Trustee;
use gossamer::collections::{DistCounter, DistQueue, DistVec, IndexRange};
use integration_tests::{in_runtime, on_nodes, panic_text};

#[test]
fn chosen_workers_alone_go_through_a_range_a_queue_and_a_file() {
    in_runtime(1, || on_some(0));
    in_runtime(3, || on_some(1));
    on_nodes(2, 2, || on_some(1));
}

/// On all workers but the first ones, or the only one.
#[gossamer::delegate]
fn on_some(first: usize) {
    let some = Trustee::all()[first..].to_vec();
    let range = IndexRange::from(0..1000).on(&some);
    let seen = DistVec::filled(1000, 0_u32);
    let to = seen.clone();
    range.par_for_each(move |number| {
        assert!(Trustee::here().index() >= first);
        to.update(number, |times| *times += 1);
    });
    assert_eq!(seen.to_vec(), [1; 1000]);
    let folded = range.par_fold(0, |sum, number| sum + number + first);
    assert_eq!(folded.into_iter().sum::<usize>(), 499_500 + 1000 * first);
    let least = range.par_map_reduce(|number| number ^ (512 + first), |one, other| one.min(other));
    assert_eq!(least, Some(0));

    let (queue, counter) = (DistQueue::on(&some), DistCounter::on(&some));
    queue.extend(0..100_u64);
    let count = counter.clone();
    queue.par_for_each(move |item, more| {
        assert!(Trustee::here().index() >= first);
        count.add(1);
        if item >= 50 {
            more.push(item - 50);
        }
    });
    assert!(queue.is_empty());
    // From a worker without a share too, whose request is served before the next one.
    counter.add(1);
    assert_eq!(counter.sum(), 151);
    assert!(format!("{counter:?}").starts_with("DistCounter(DistVec("), "{counter:?}");

    let path = std::env::temp_dir().join(format!("gossamer-chosen-{}", std::process::id()));
    std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    let lines = DistVec::from_lines_on(&path, &some).unwrap();
    let bytes = DistVec::<u8>::from_file_on(&path, &some).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((lines.to_vec().join("-"), lines.trustees()), ("one-two-three".to_owned(), some.clone()));
    assert_eq!((bytes.range(0..4), bytes.trustees()), (b"one\n".to_vec(), some));
}

#[test]
fn a_worker_that_is_listed_twice_takes_part_twice() {
    in_runtime(2, || {
        let twice = [Trustee::all()[1]; 2];
        let numbers = IndexRange::from(0..100).on(&twice).par_fold(0, |sum, number| sum + number);
        assert_eq!(numbers.into_iter().sum::<usize>(), 4950);
        let (queue, counter) = (DistQueue::on(&twice), DistCounter::on(&twice));
        queue.extend(0..100_u64);
        let count = |_, _: &mut Vec<u64>, counter: &DistCounter| counter.add(1);
        queue.par_for_each_with(count, counter.clone());
        assert_eq!(counter.sum(), 100);
    });
}

#[test]
fn no_workers_are_refused_with_the_reason() {
    in_runtime(1, || {
        let calls: [fn(); 4] = [
            || drop(IndexRange::from(0..1).on(&[])),
            || drop(DistQueue::<u64>::on(&[])),
            || drop(DistCounter::on(&[])),
            || drop(DistVec::from_lines_on("no such file", &[])),
        ];
        for call in calls {
            let text = panic_text(call);
            assert!(text.contains("on no workers"), "{text}");
        }
    });
}

#[test]
fn a_loop_on_the_workers_of_a_property_meets_it_without_a_request() {
    in_runtime(2, || {
        let there = Trustee::all()[1];
        let count = there.entrust(0_u64);
        let add = |_, count: &gossamer::Trust<u64>| count.apply_here(|count| *count += 1);
        IndexRange::from(0..100).on(&[there]).par_for_each_with(add, count.clone());
        assert_eq!(count.apply(|count| *count), 100);
    });
}
