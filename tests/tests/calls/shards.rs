//! Shards: chosen trustees, public hashes, one request for many keys, closures with arguments.

use gossamer::{Sharded, Trustee};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::collections::HashMap;

#[test]
fn shards_live_on_the_trustees_that_were_named() {
    in_runtime(4, || {
        let all = Trustee::all();
        let shards = Sharded::<u32, u32>::on(&[all[3], all[1], all[3]], || 7);
        let trustees: Vec<_> = shards.shards().iter().map(|shard| shard.trustee()).collect();
        assert_eq!(trustees, [all[3], all[1], all[3]]);
        assert_eq!(shards.map_all(|value| *value), [7, 7, 7]);
        assert!(panic_text(|| Sharded::<u32, u32>::on(&[], || 7)).contains("no trustees"));
    });
}

#[test]
fn the_shard_of_a_key_is_told_by_its_hash() {
    in_runtime(3, || {
        let shards = Sharded::<str, u32>::new();
        for key in ["a", "b", "some longer key", ""] {
            let hash = Sharded::<str, u32>::hash_of(key);
            let index = shards.index_of(key);
            assert_eq!(shards.index_of_hash(hash), index);
            assert_eq!(shards.shard(key).trustee(), shards.shards()[index].trustee());
        }
        // The same in every run and on every node.
        assert_eq!(Sharded::<u64, ()>::hash_of(&1), Sharded::<u64, u8>::hash_of(&1));
    });
}

#[test]
fn a_batch_gives_the_results_in_the_order_of_the_keys() {
    in_runtime(3, || {
        let table = Sharded::<u64, HashMap<u64, u64>>::new();
        let none = table
            .apply_batch((0..1000).map(|key| (key, key * 2)), |shard, key, value| shard.insert(key, value));
        assert!(none.len() == 1000 && none.iter().all(Option::is_none));
        let keys = (0..1000).rev().map(|key| (key, ()));
        let found =
            table.apply_batch_with(keys, |shard, key, (), more| shard.get(&key).map(|value| value + more), 1);
        assert!(found.into_iter().eq((0..1000).rev().map(|key| Some(key * 2 + 1))));
        assert_eq!(table.apply_batch(std::iter::empty(), |_, _, ()| 1), [0; 0]);
        assert_eq!(table.map_all_with(|shard, more| shard.len() + more, 1).iter().sum::<usize>(), 1003);
    });
}

#[test]
fn a_batch_whose_closure_panics_says_so_and_the_others_are_served() {
    in_runtime(2, || {
        let table = Sharded::<u64, HashMap<u64, u64>>::new();
        let text = panic_text(|| {
            table.apply_batch((0..100).map(|key| (key, key)), |shard, key, value| {
                assert!(key != 50, "fifty");
                shard.insert(key, value);
            })
        });
        assert!(text.contains("fifty"), "{text}");
        assert!(table.map_all(|shard| shard.len()).iter().all(|length| *length > 0));
    });
}

#[test]
fn a_batch_goes_to_other_nodes() {
    on_nodes(2, 2, || {
        let table = Sharded::<String, HashMap<String, u64>>::with(const { || HashMap::new() });
        let items = (0..200_u64).map(|number| (number.to_string(), number));
        let insert = const { |shard: &mut HashMap<String, u64>, key, value: u64| shard.insert(key, value) };
        assert_eq!(table.apply_batch(items, insert).len(), 200);
        let lengths =
            table.map_all_with(const { |shard: &mut HashMap<String, u64>, by: usize| shard.len() * by }, 2);
        assert_eq!(lengths.iter().sum::<usize>(), 400);
    });
}
