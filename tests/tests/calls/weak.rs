//! Weak trusts do not keep a property alive, and can be upgraded as long as something else does.

use gossamer::{Trust, Trustee, WeakTrust, entrust, spawn_with};
use integration_tests::{Tally, far, near_and_far, on_nodes, wait_until};

#[test]
fn a_weak_trust_does_not_keep_its_property() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let trust = trustee.entrust(tally.value());
        let weak = trust.downgrade();
        let again = weak.upgrade().unwrap();
        drop(trust);
        again.apply(|_| ());
        drop(again);
        assert!(weak.upgrade().is_none());
        wait_until(|| tally.is_even());
        assert!(format!("{weak:?}").contains("gone"));
        assert!(WeakTrust::<u8>::new().upgrade().is_none());
    });
}

#[test]
fn properties_in_a_cycle_with_a_weak_trust_are_dropped() {
    struct Parent(Vec<Trust<Child>>, #[expect(dead_code, reason = "dropped")] integration_tests::Counted);
    struct Child(WeakTrust<Parent>, #[expect(dead_code, reason = "dropped")] integration_tests::Counted);
    integration_tests::in_runtime(1, || {
        let tally = Tally::new();
        let parent = entrust(Parent(Vec::new(), tally.value()));
        let child = entrust(Child(parent.downgrade(), tally.value()));
        let keep = |parent: &mut Parent, child: Trust<Child>| parent.0.push(child);
        parent.apply_with(keep, child.clone());
        assert!(child.apply(|child| child.0.upgrade().is_some()));
        drop((parent, child));
        wait_until(|| tally.is_even());
    });
}

#[test]
fn a_weak_trust_travels_between_workers_and_is_raced_for() {
    near_and_far(|trustee| {
        for _ in 0..200 {
            let tally = Tally::new();
            let trust = trustee.entrust(tally.value());
            let other = Trustee::all()[1];
            let upgrade = |weak: WeakTrust<integration_tests::Counted>| {
                weak.upgrade().is_some_and(|trust| trust.try_apply(|_| ()).is_ok())
            };
            let fiber = gossamer::spawn_on_with(other, upgrade, trust.downgrade());
            drop(trust);
            fiber.join();
            wait_until(|| tally.is_even());
        }
    });
}

#[test]
fn a_weak_trust_does_not_leave_its_node() {
    on_nodes(2, 1, || {
        let trust = entrust(1);
        let sent =
            far().spawn_with(const { |weak: WeakTrust<i32>| weak.upgrade().is_some() }, trust.downgrade());
        assert!(sent.try_join().unwrap_err().to_string().contains("cannot leave the node"));
        let weakened = spawn_with(
            const {
                |trust: Trust<i32>| {
                    trust.downgrade().upgrade().map(|trust| trust.apply(const { |one: &mut i32| *one }))
                }
            },
            trust,
        );
        assert_eq!(weakened.join(), Some(1));
    });
}
