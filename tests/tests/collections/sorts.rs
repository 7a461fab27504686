//! Sorting, against `Vec`.

use crate::layouts;
use fastrand::Rng;
use gossamer::collections::DistVec;
use integration_tests::{in_runtime, on_nodes};

/// How many elements there are, with how many different keys.
const INPUTS: [(usize, u64); 4] = [(0, 5), (2, 5), (2000, 5), (2000, u64::MAX)];

#[test]
fn a_vector_is_sorted_as_a_vec_is() {
    in_runtime(1, || INPUTS.into_iter().for_each(sort));
    in_runtime(2, || INPUTS.into_iter().for_each(sort));
    in_runtime(4, || sort((500, 5)));
    on_nodes(2, 2, || sort((200, 5)));
}

/// Keys, with the place where each was; if there are few different keys, many are equal.
fn input(random: &mut Rng, len: usize, keys: u64) -> Vec<(u64, usize)> {
    (0..len).map(|place| (random.u64(..keys), place)).collect()
}

#[gossamer::delegate]
fn sort((len, keys): (usize, u64)) {
    let mut random = Rng::with_seed(3);
    for layout in layouts(len) {
        let mut oracle = input(&mut random, len, keys);
        let vector = DistVec::from_vec(layout, oracle.clone());
        let mask = u64::MAX / 2;
        oracle.sort_by_key(|(key, _)| key & mask);
        vector.par_sort_by_key(|(key, _)| key & mask);
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        vector.par_sort_by(|one, other| other.0.cmp(&one.0));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable_by_key(|(key, place)| (key & mask, *place));
        vector.par_sort_unstable_by_key(|(key, place)| (key & mask, *place));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable();
        vector.par_sort_unstable();
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable_by(|one, other| other.cmp(one));
        vector.par_sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
    }
}

#[test]
fn texts_are_sorted_and_none_is_lost() {
    on_nodes(2, 2, || {
        let mut oracle: Vec<String> = (0..300).map(|number| format!("{:03}", number * 7919 % 300)).collect();
        let texts = DistVec::from_slice(&oracle);
        texts.par_sort();
        oracle.sort();
        assert_eq!(texts.to_vec(), oracle);
    });
}

#[test]
fn an_order_that_is_none_ends_all_the_same() {
    in_runtime(3, || {
        let vector = DistVec::from_fn(1000, |index| index);
        // Whatever the result is: it ends, and each element is there once.
        _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            vector.par_sort_by(
                |one, other| if (one ^ other) % 3 == 0 { other.cmp(one) } else { one.cmp(other) },
            );
        }));
        let mut left = vector.to_vec();
        left.sort_unstable();
        assert!(left.into_iter().eq(0..1000));
    });
}
