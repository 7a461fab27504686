//! The same calls with closures that capture, inside marked functions, on several nodes.

use gossamer::{Config, Latch, Replies, Sharded, Trust, Trustee, delegate, entrust};
use integration_tests::{far, in_child, on_nodes};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn closures_that_capture_are_launched_sent_and_batched() {
    #[delegate]
    fn body() {
        let (more, text) = (5_u64, String::from("text"));
        let latch = far().entrust(Latch::new(10_u64));
        assert_eq!(latch.try_launch(move |value| *value + more), Ok(15));
        assert_eq!(latch.launch_async(move |value| *value + more).wait(), 15);
        assert_eq!(latch.launch_read(move |value| *value * more), 50);
        let latches = [latch.clone(), far().entrust(Latch::new(1))];
        let sum =
            Trust::launch_all(&latches, move |values| values.iter().map(|value| **value).sum::<u64>() + more);
        assert_eq!(sum, 16);
        let mut replies = Replies::new();
        for (number, trustee) in Trustee::all().into_iter().enumerate() {
            let property = trustee.entrust(number);
            let text = text.clone();
            property.apply_into(&replies, number, move |number| format!("{text} {number}"));
        }
        while let Some((number, reply)) = replies.next() {
            assert_eq!(reply, Ok(format!("text {number}")));
        }
        let table = Sharded::<u64, HashMap<u64, u64>>::on(&Trustee::all(), || HashMap::new());
        let items = (0..100).map(|key| (key, key));
        let stored = table.apply_batch(items, move |shard, key, value| {
            shard.insert(key, value + more);
            value + more
        });
        assert_eq!(stored[7], 12);
        let lengths = table.map_all(move |shard| shard.len() as u64 + more);
        assert_eq!(lengths.iter().sum::<u64>(), 100 + 5 * lengths.len() as u64);
    }
    on_nodes(2, 2, body);
}

#[test]
fn an_assertion_that_fails_prints_its_condition_as_it_was_written() {
    #[delegate]
    fn exceeds(number: &Trust<u64>, limit: u64) {
        assert!(number.apply(|number| { *number > limit }),);
    }
    gossamer::run(Config::default().threads(1), || {
        let number = entrust(3_u64);
        exceeds(&number, 2);
        let panic = catch_unwind(AssertUnwindSafe(|| exceeds(&number, 3))).unwrap_err();
        let said = panic.downcast_ref::<&str>();
        assert_eq!(said, Some(&"assertion failed: number.apply(|number| { *number > limit })"));
    });
}

#[test]
fn dbg_prints_its_argument_as_it_was_written() {
    const LINE: u32 = line!() + 3;
    #[delegate]
    fn show(number: &Trust<u64>, more: u64) -> u64 {
        let sum = dbg!(number.apply(move |number| *number + more));
        let (number, more) = dbg!(number.apply(|number| *number), more);
        sum + number + more
    }
    let body = || {
        gossamer::run(Config::default().threads(1), || assert_eq!(show(&entrust(3_u64), 2), 10));
    };
    let ended = in_child(|_| (), body);
    assert!(ended.status.success(), "{}", ended.errors);
    let said: Vec<_> = ended.errors.lines().collect();
    let place = |line, column| format!("[{}:{line}:{column}]", file!());
    assert_eq!(said[0], format!("{} number.apply(move |number| *number + more) = 5", place(LINE, 19)));
    assert!(said[1].starts_with(&place(LINE + 1, 30)) && said[1].ends_with(" = 3"), "{}", ended.errors);
    assert_eq!(said[2..], [format!("{} more = 2", place(LINE + 1, 30))]);
}
