//! Closures of maps that panic, that cannot leave their node, or that wait; workers that have ended.

use gossamer::collections::DistMap;
use gossamer::{NoRef, Reason, Runtime, entrust, unblock};
use integration_tests::{in_runtime, isolated, on_nodes, panic_text, watched, workers};
use std::hash::{Hash, Hasher};
use std::sync::mpsc;

#[test]
fn a_panic_in_the_closure_of_a_key_names_the_line_that_called_and_spares_the_others() {
    let body = || {
        let map = DistMap::new();
        (0..10_u64).for_each(|key| _ = map.insert(key, key));
        let here = |line: u32| format!("(sent from {}:{line}:", file!());
        let text = panic_text(|| map.apply(3, |_| -> u64 { panic!("three") }));
        assert!(text.contains("three") && text.contains(&here(line!() - 1)), "{text}");
        let text = panic_text(|| map.update(10, 7, |value| assert_eq!(*value, 10, "seven")));
        assert!(text.contains("seven") && text.contains(&here(line!() - 1)), "{text}");
        let text = panic_text(|| map.par_for_each(|key, _| assert_ne!(*key, 5, "five")));
        assert!(text.contains("five") && text.contains(&here(line!() - 1)), "{text}");
        let text = panic_text(|| map.retain(|key, _| 10 / (*key - 5) < 100));
        assert!(
            (text.contains("overflow") || text.contains("zero")) && text.contains("map_trouble.rs"),
            "{text}"
        );
        let error = map.apply_async(4, |_| -> u64 { panic!("four") }).try_wait().unwrap_err();
        assert!(error.to_string().contains(&here(line!() - 1)), "{error}");
        assert_eq!(map.get(10), Some(7), "the key is there all the same");
    };
    isolated(move || gossamer::run(workers(2), body));
}

#[test]
fn a_panic_in_one_merge_spares_the_others() {
    on_nodes(2, 2, panics_in_merges);
}

#[gossamer::delegate]
fn panics_in_merges() {
    let map = DistMap::new();
    (0..1000_u64).for_each(|key| _ = map.insert(key, 0));
    let mut updates = map.updates(0_u64, |value, by: u64| {
        assert!(by != 7, "seven");
        *value += by;
    });
    (0..50_000).for_each(|number| updates.push(number % 1000, if number == 4321 { 7 } else { 1 }));
    let error = updates.try_finish().unwrap_err();
    assert!(matches!(error.reason(), Reason::Panicked { .. }));
    let text = error.to_string();
    assert!(text.contains("seven") && text.contains("map_trouble.rs"), "{text}");
    let mut all: Vec<_> = map.chunks().flatten().collect();
    all.sort_unstable();
    let expected = (0..1000).map(|key| (key, if key == 321 { 49 } else { 50 }));
    assert!(all.into_iter().eq(expected));
    // Two that have not been sent are combined here: the panic reaches the caller, which goes on.
    let mut merges = map.merges(|value: &mut u64, more| {
        assert!(more != 7, "here");
        *value += more;
    });
    merges.push(1, 1);
    assert!(panic_text(|| merges.push(1, 7)).contains("here"));
    merges.push(1, 1);
    merges.finish();
    assert_eq!(map.get(1), Some(52));
}

#[test]
fn a_map_whose_worker_has_ended_says_so() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        gossamer::run(workers(2), move || {
            let map = DistMap::new();
            map.insert(1, 1);
            sender.send(map).unwrap();
        });
        let map = receiver.recv().unwrap();
        assert_eq!(*map.get_async(1).try_wait().unwrap_err().reason(), Reason::Ended);
        let pending = map.update_async(1, 0, |value| *value += 1);
        assert_eq!(*pending.try_wait().unwrap_err().reason(), Reason::Ended);
        assert!(panic_text(|| map.len()).contains("ended"));
        assert!(panic_text(|| map.chunks().next()).contains("ended"));
    });
}

#[test]
fn updates_of_a_map_whose_worker_ends_in_the_middle_say_so() {
    watched(|| {
        let other = Runtime::start(workers(1)).unwrap();
        let (sender, receiver) = mpsc::channel();
        other.run(move || sender.send(DistMap::new()).unwrap());
        gossamer::run(workers(1), move || {
            let map = receiver.recv().unwrap();
            let mut merges = map.merges(|value: &mut u64, more| *value += more);
            (0..100_000).for_each(|key| merges.push(key, 1_u64));
            unblock(move || other.shutdown());
            (0..100_000).for_each(|key| merges.push(key, 1));
            assert_eq!(*merges.try_finish().unwrap_err().reason(), Reason::Ended);
        });
    });
}

#[test]
fn a_map_that_waits_where_nothing_can_says_so() {
    in_runtime(2, || {
        let property = entrust(DistMap::<u64, u64>::new());
        for key in 0..8 {
            let text = panic_text(|| property.apply_with(|map, key| map.get(key), key));
            assert!(text.contains("inside a delegated closure"), "{text}");
        }
    });
}

#[test]
fn a_closure_of_a_map_that_is_no_constant_stays_in_its_node() {
    on_nodes(2, 1, || {
        let map = DistMap::<u64, u64>::on(&gossamer::Trustee::all()[1..]);
        let text = panic_text(|| map.update(1, 0, |value| *value += 1));
        assert!(text.contains("delegate"), "{text}");
        assert_eq!(map.get(1), None);
    });
}

/// All its hashes are equal, and hashing it panics when it is told to.
#[derive(Clone, Debug, PartialEq, Eq, gossamer::NoRef)]
struct Clumsy(u64);

thread_local! {
    static REFUSES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Hash for Clumsy {
    fn hash<H: Hasher>(&self, _: &mut H) {
        assert!(!REFUSES.get(), "not now");
    }
}

#[test]
fn keys_of_one_hash_are_told_apart() {
    in_runtime(1, || {
        let map = DistMap::new();
        (0..3000).for_each(|key| assert_eq!(map.insert(Clumsy(key), key), None));
        assert_eq!((map.get(Clumsy(2999)), map.len()), (Some(2999), 3000));
        assert_eq!(map.chunks().flatten().count(), 3000);
    });
}

#[test]
fn a_hash_that_panics_loses_no_entry() {
    in_runtime(1, || {
        let map = DistMap::new();
        let mut merges = map.merges(|_: &mut u64, _| {});
        (0..3584).for_each(|key| merges.push(Clumsy(key), key));
        merges.finish();
        assert_eq!(map.len(), 3584);
        // The table is full: for another entry, its keys are hashed again.
        let mut merges = map.merges(|_: &mut u64, _| {});
        (3584..3600).for_each(|key| merges.push(Clumsy(key), key));
        REFUSES.set(true);
        let outcome = merges.try_finish();
        REFUSES.set(false);
        assert!(outcome.unwrap_err().to_string().contains("not now"));
        assert_eq!((map.len(), map.chunks().flatten().count()), (3584, 3584));
    });
}

#[test]
fn a_hash_that_panics_loses_no_entry_of_a_table_from_which_many_were_removed() {
    in_runtime(1, || {
        let map = DistMap::new();
        (0..3584).for_each(|key| _ = map.insert(Clumsy(key), key));
        // Tables are searched in groups of 16 places, here in this order. A place that becomes free between full groups
        // cannot be used for entries of other groups, so the table is rebuilt for the next entry.
        let groups: Vec<u64> = (0..224).map(|step| step * (step + 1) / 2 % 256).collect();
        let is_full = |group: u64| groups.contains(&(group % 256));
        for (step, group) in
            (0..).zip(&groups).filter(|(_, group)| is_full(**group + 1) && is_full(**group + 255))
        {
            let keys = 16 * step..16 * (step + 1);
            keys.for_each(|key| assert_eq!(map.remove(Clumsy(key)), Some(key), "{group}"));
        }
        let left = map.len();
        assert!(left < 1500, "{left}");
        let mut merges = map.merges(|_: &mut u64, _| {});
        merges.push(Clumsy(9999), 0);
        REFUSES.set(true);
        let outcome = merges.try_finish();
        REFUSES.set(false);
        assert!(outcome.unwrap_err().to_string().contains("not now"), "the table is rebuilt");
        assert_eq!((map.len(), map.chunks().flatten().count()), (left, left));
        assert_eq!((map.insert(Clumsy(9999), 0), map.len()), (None, left + 1));
    });
}

/// Copying one of them panics.
#[derive(Debug, PartialEq, NoRef)]
struct Unlucky(u64);

impl Clone for Unlucky {
    fn clone(&self) -> Self {
        assert_ne!(self.0, 77, "unlucky");
        Self(self.0)
    }
}

#[test]
fn a_copy_that_panics_reaches_who_asked_for_many_values_and_spares_the_map() {
    in_runtime(2, || {
        let map = DistMap::new();
        (0..10_000).for_each(|key| _ = map.insert(key, Unlucky(key)));
        let text = panic_text(|| map.gather((0..10_000).chain(0..10_000)));
        let here = format!("(sent from {}:{}:", file!(), line!() - 1);
        assert!(text.contains("unlucky") && text.contains(&here), "{text}");
        assert_eq!(map.len(), 10_000);
        assert_eq!(map.gather([78, 10_000, 76]), [Some(Unlucky(78)), None, Some(Unlucky(76))]);
        let text = entrust(map).apply_with(|map, key: u64| panic_text(|| map.gather([key])), 78);
        assert!(text.contains("blocking `gather`"), "{text}");
    });
}

#[test]
fn a_default_whose_copies_panic_is_told_and_other_batches_do_not_abort() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let map = DistMap::new();
            let mut updates = map.updates(Unlucky(77), |value: &mut Unlucky, by| value.0 += by);
            (0..20_u64).for_each(|key| updates.push(key, 1));
            let text = panic_text(|| updates.finish());
            assert!(text.contains("unlucky"), "{text}");
            assert!(map.is_empty());
            // A handle that is only dropped sends what it has gathered, too.
            let mut updates = map.updates(Unlucky(77), |value: &mut Unlucky, by| value.0 += by);
            updates.push(3, 1);
            drop(updates);
            map.insert(3, Unlucky(3));
            assert_eq!(map.get(3), Some(Unlucky(3)));
        });
    });
}

/// A key that may panic when it is dropped.
#[derive(NoRef, PartialEq, Eq, Hash)]
struct Heavy(u64);

impl Drop for Heavy {
    fn drop(&mut self) {
        assert!(self.0 != 3 || std::thread::panicking(), "three is dropped");
    }
}

#[test]
fn a_map_counts_right_after_a_key_that_panics_when_it_is_dropped() {
    isolated(|| {
        gossamer::run(workers(1), || {
            let map = DistMap::new();
            (0..5).for_each(|key| _ = map.insert(Heavy(key), key));
            panic_text(|| map.remove(Heavy(3)));
            assert_eq!((map.len(), map.map_all(|entries| entries.iter().count())), (4, vec![4]));
        });
    });
}
