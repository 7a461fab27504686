//! Properties by name: found on every worker and node, kept by their name, refused with words.

use gossamer::{NameError, Trust, Trustee, entrust_as, forget_name, spawn_on_with};
use integration_tests::{Tally, in_runtime, on_nodes, wait_until, watched, workers};

#[test]
fn a_property_is_found_by_its_name_on_every_worker() {
    in_runtime(3, || {
        let sum = entrust_as("sum", 0_u64).unwrap();
        for trustee in Trustee::all() {
            let add = |()| Trust::<u64>::named("sum").unwrap().apply(|sum| *sum += 1);
            spawn_on_with(trustee, add, ()).join();
        }
        assert_eq!(sum.apply(|sum| *sum), 3);
    });
}

#[test]
fn names_that_are_unknown_taken_or_of_another_type_are_refused() {
    in_runtime(1, || {
        let unknown = Trust::<u8>::named("nobody").unwrap_err();
        assert!(matches!(unknown, NameError::Unknown { .. }));
        assert!(unknown.to_string().contains("\"nobody\""), "{unknown}");
        let tally = Tally::new();
        drop(entrust_as("taken", 1_u8).unwrap());
        let taken = entrust_as("taken", tally.value()).unwrap_err();
        assert_eq!(
            taken.to_string(),
            "another property is named \"taken\", a `u8`: names are given once, or forgotten by `forget_name`"
        );
        wait_until(|| tally.is_even());
        let other = Trust::<String>::named("taken").unwrap_err();
        assert_eq!(other.to_string(), "the property \"taken\" is a `u8`, and not a `alloc::string::String`");
    });
}

#[test]
fn a_name_keeps_its_property_until_it_is_forgotten_or_the_runtime_ends() {
    let tally = Tally::new();
    watched(move || {
        gossamer::run(workers(2), move || {
            drop(entrust_as("kept", tally.value()).unwrap());
            drop(entrust_as("forgotten", tally.value()).unwrap());
            assert!(forget_name("forgotten") && !forget_name("forgotten"));
            wait_until(|| tally.dropped() == 1);
            assert!(Trust::<integration_tests::Counted>::named("kept").is_ok());
        });
        assert!(tally.is_even());
    });
}

#[test]
fn a_name_is_found_on_all_nodes() {
    on_nodes(3, 1, || {
        for trustee in Trustee::all() {
            let name = const { |number: usize| entrust_as(&format!("of {number}"), vec![number]).is_ok() };
            assert!(spawn_on_with(trustee, name, trustee.index()).join());
            let look = const {
                |number: usize| {
                    let found = Trust::<Vec<usize>>::named(&format!("of {number}")).unwrap();
                    let wrong = Trust::<u8>::named(&format!("of {number}")).is_err();
                    (found.apply(const { |list: &mut Vec<usize>| list[0] }), found.trustee().index(), wrong)
                }
            };
            for other in Trustee::all() {
                assert_eq!(
                    spawn_on_with(other, look, trustee.index()).join(),
                    (trustee.index(), trustee.index(), true)
                );
            }
        }
    });
}
