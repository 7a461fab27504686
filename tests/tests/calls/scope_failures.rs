//! What a scope tells of its fibers that fail and that nobody joins.

use gossamer::{scope, yield_now};
use integration_tests::{in_runtime, panic_text};

/// A scope in which this many fibers fail and are not joined: the first one while its handle is held, the others after
/// theirs were dropped.
fn failing(count: usize) {
    scope(|s| {
        let first = s.spawn(|| -> () { panic!("the first") });
        while !first.is_finished() {
            yield_now();
        }
        (1..count).for_each(|_| drop(s.spawn(|| panic!("another"))));
        assert!(s.spawn(|| -> () { panic!("somebody joins") }).try_join().is_err());
        drop(first);
    });
}

#[test]
fn a_scope_tells_the_first_of_its_fibers_that_failed_and_how_many_others_did() {
    in_runtime(1, || {
        for (count, others) in [
            (1, "the first"),
            (2, "(one more fiber of the scope has"),
            (1000, "(999 more fibers of the scope"),
        ] {
            let text = panic_text(|| failing(count));
            assert!(
                text.contains("panicked") && text.contains("the first") && text.contains(others),
                "{text}"
            );
            assert_eq!(text.contains("more fiber"), count > 1, "{text}");
        }
    });
}
