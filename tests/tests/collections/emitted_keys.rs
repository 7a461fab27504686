//! Loops that emit borrowed keys.

use gossamer::collections::{DistMap, DistVec, par_emit};
use integration_tests::{in_child, in_runtime, on_nodes, panic_text};
use std::collections::BTreeMap;

/// More than are emitted before a loop pauses.
const MANY: usize = 5000;

#[test]
fn borrowed_keys_are_cloned_where_they_are_needed() {
    on_nodes(2, 2, borrowed);
}

#[gossamer::delegate]
fn borrowed() {
    let lines = DistVec::from_fn(MANY, |index| format!("{} {}", index % 7, index % 1000));
    let (counts, lists, bins) = (DistMap::<String, usize>::new(), DistMap::new(), DistVec::filled(1000, 0));
    let mut expected = BTreeMap::<String, usize>::new();
    for index in 0..MANY {
        *expected.entry((index % 7).to_string()).or_default() += 1;
        *expected.entry((index % 1000).to_string()).or_default() += 1;
    }
    let each = std::hint::black_box(1);
    lines
        .par_emit(|_, line, out| line.split(' ').for_each(|word| out.push_ref(word, each)))
        .merge_into(&counts, |count, more| *count += more);
    assert_eq!(counts.chunks().flatten().collect::<BTreeMap<_, _>>(), expected);

    let sent = lines
        .par_emit(|index, line, out| line.split(' ').for_each(|word| out.push_ref(word, index)))
        .update_into(&lists, Vec::new(), |list: &mut Vec<usize>, index| list.push(index));
    let lens = lists.chunks().flatten().map(|(word, list): (String, Vec<_>)| (word, list.len()));
    assert_eq!((lens.collect::<BTreeMap<_, _>>(), sent), (expected, 2 * MANY as u64));

    lines
        .par_emit(|index, _, out| out.push_ref(&(index % 1000), 1))
        .apply_to(&bins, |bin, more| *bin += more);
    assert_eq!(bins.to_vec(), [MANY / 1000; 1000]);

    // Far more than is gathered at a time, of one element.
    let (all, one) = (DistMap::<String, u64>::new(), DistVec::filled(1, ()));
    let sent = one
        .par_emit(|_, (), out| {
            (0..300_000).for_each(|number| out.push_ref((number % 150_000).to_string().as_str(), 1))
        })
        .merge_into(&all, |count, more| *count += more);
    assert_eq!((sent, all.len()), (300_000, 150_000));
    assert!(all.chunks().flatten().all(|(_, count)| count == 2));
}

#[test]
fn panics_of_many_arguments_are_told_once() {
    let ended = in_child(
        |_| (),
        || {
            in_runtime(2, || {
                let counts = DistMap::new();
                let text = panic_text(|| {
                    par_emit(0..10_000, |number, out| out.push(number % 3, 1_u8))
                        .merge_into(&counts, |count, more| {
                            *count = count.checked_add(more).expect("too many")
                        })
                });
                assert!(text.contains("too many"), "{text}");
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    assert!(ended.errors.matches("too many").count() <= 4, "{}", ended.errors);
}
