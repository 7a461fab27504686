//! `Workers`: what the fibers on some workers do together.

use gossamer::{Config, NoRef, Reason, TeamMember, Trust, Trustee, Workers, entrust, rack, spawn_on_with};
use integration_tests::{in_runtime, on_nodes, text_of, watched, workers};
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

/// Collectives of every kind, one after another, compared with an oracle.
#[gossamer::delegate]
fn rounds(member: &TeamMember, rounds: usize) -> Vec<usize> {
    let (me, count) = (member.index(), member.count());
    assert_eq!(member.workers().trustees()[me], Trustee::here());
    let mut sums = Vec::new();
    for round in 0..rounds {
        assert_eq!(member.gather((me, round)), (0..count).map(|other| (other, round)).collect::<Vec<_>>());
        member.barrier();
        sums.push(member.all_reduce(me * round, |one, other| one + other));
        // It is not commutative: the order of the members matters.
        let text = member.all_reduce(format!("{me},"), |one, other| one + &other);
        assert_eq!(text, (0..count).map(|other| format!("{other},")).collect::<String>());
    }
    sums
}

/// All workers, some of them, one, and one twice.
#[gossamer::delegate]
fn teams() {
    let all = Trustee::all();
    let odd: Vec<_> = all.iter().copied().skip(1).step_by(2).collect();
    let reversed: Vec<_> = all.iter().rev().copied().collect();
    let twice: Vec<_> = all.iter().chain(&all).copied().collect();
    for some in [all.clone(), odd, reversed, vec![all[0]], twice] {
        if some.is_empty() {
            continue;
        }
        let sum: usize = (0..some.len()).sum();
        let results = Workers::on(&some).each_with(const { |member, count| rounds(member, count) }, 20);
        assert_eq!(results, vec![(0..20).map(|round| sum * round).collect::<Vec<_>>(); some.len()]);
        let places = Workers::on(&some).each(const { |_| Trustee::here() });
        assert_eq!(places, some);
    }
}

#[test]
fn members_on_any_workers_combine_what_they_bring() {
    for count in [1, 2, 3, 4] {
        in_runtime(count, teams);
    }
    on_nodes(2, 2, teams);
    on_nodes(4, 1, teams);
    on_nodes(3, 3, teams);
}

/// A barrier holds up members that come early: each sees what all have done before it.
#[gossamer::delegate]
fn hold() {
    let come = entrust(0_usize);
    let visit = const {
        |member: &TeamMember, come: Trust<usize>| {
            for round in 1..=30 {
                come.apply(|come| *come += 1);
                member.barrier();
                assert_eq!(come.apply(|come| *come), round * member.count());
                member.barrier();
            }
        }
    };
    Workers::all().each_with(visit, come);
}

#[test]
fn a_barrier_holds_those_who_come_early() {
    in_runtime(2, hold);
    in_runtime(4, hold);
    on_nodes(2, 2, hold);
}

/// Teams on the same workers, started by fibers everywhere, at work at the same time.
#[gossamer::delegate]
fn many_teams() {
    let begin = const {
        |()| {
            let results = Workers::all().each_with(const { |member, count| rounds(member, count) }, 15);
            results.len()
        }
    };
    let all = Trustee::all();
    let fibers: Vec<_> = all.iter().cycle().take(8).map(|there| spawn_on_with(*there, begin, ())).collect();
    assert!(fibers.into_iter().all(|fiber| fiber.join() == all.len()));
}

#[test]
fn teams_that_are_under_way_at_once_are_not_mixed_up() {
    in_runtime(2, many_teams);
    on_nodes(2, 2, many_teams);
    on_nodes(4, 1, many_teams);
}

/// What `body` panics with, in a fiber of its own.
#[gossamer::delegate]
fn panic_of(body: fn()) -> String {
    let failed = gossamer::spawn_local(body).try_join().unwrap_err();
    match failed.reason() {
        Reason::Panicked { message, .. } => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[gossamer::delegate]
fn misuses() {
    let different = || {
        Workers::all().each(
            const {
                |member: &TeamMember| {
                    if member.index() == 0 {
                        member.gather(1_u64);
                    } else {
                        member.all_reduce(1_u32, |one, _| one);
                    }
                }
            },
        );
    };
    let message = panic_of(different);
    assert!(message.contains("came to `TeamMember::"), "{message}");
    assert!(message.contains("all members call the same"), "{message}");
    let returns = || {
        Workers::all().each(
            const {
                |member: &TeamMember| {
                    member.barrier();
                    if member.index() == 0 {
                        member.barrier();
                    }
                }
            },
        );
    };
    let message = panic_of(returns);
    assert!(message.contains("member 0 waits in `TeamMember::barrier` for member 1"), "{message}");
    assert!(message.contains("after 1 collectives"), "{message}");
    let panics = || {
        Workers::all().each(
            const {
                |member: &TeamMember| -> () {
                    assert!(member.index() != 1, "as asked for");
                    loop {
                        member.barrier();
                    }
                }
            },
        );
    };
    assert!(panic_of(panics).contains("as asked for"));
    let combines = || {
        Workers::all()
            .each(const { |member: &TeamMember| member.all_reduce(1, |_, _| panic!("not combined")) });
    };
    assert!(panic_of(combines).contains("not combined"));
    // And everything goes on.
    teams();
}

#[test]
fn members_that_do_not_agree_or_fail_are_reported_and_nobody_hangs() {
    in_runtime(2, misuses);
    in_runtime(4, misuses);
    on_nodes(2, 1, misuses);
    on_nodes(2, 2, misuses);
}

#[gossamer::delegate]
fn cancel_one_who_waits() {
    for there in Trustee::all() {
        let endless = const {
            |()| -> () {
                Workers::all().each(
                    const {
                        |member: &TeamMember| {
                            if member.index() == 0 {
                                gossamer::sleep(Duration::from_secs(3600));
                            }
                            member.barrier();
                        }
                    },
                );
            }
        };
        let fiber = spawn_on_with(there, endless, ());
        gossamer::sleep(Duration::from_millis(5));
        fiber.cancel();
        assert_eq!(*fiber.try_join().unwrap_err().reason(), Reason::Cancelled);
        // Its members end, too.
        rack::wait_all();
    }
}

#[test]
fn members_end_when_whoever_has_started_them_is_cancelled() {
    in_runtime(2, cancel_one_who_waits);
    on_nodes(2, 1, cancel_one_who_waits);
}

#[gossamer::delegate]
fn wait_for_ever() {
    let waits = const {
        |()| {
            Workers::all().each(
                const {
                    |member: &TeamMember| {
                        if member.index() > 0 {
                            member.barrier();
                        }
                        gossamer::sleep(Duration::from_secs(3600));
                    }
                },
            );
        }
    };
    let _detached = spawn_on_with(Trustee::all().into_iter().last().unwrap(), waits, ());
    gossamer::sleep(Duration::from_millis(5));
    panic!("as asked for");
}

#[test]
fn a_runtime_ends_while_members_wait_for_each_other() {
    for nodes in [1, 2] {
        watched(move || {
            let run = || rack::run_in_process(nodes, workers(2), wait_for_ever);
            let payload = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"as asked for"));
        });
    }
}

#[test]
fn nobody_is_no_team() {
    watched(|| {
        let run = || gossamer::run(Config::default().threads(1), || drop(Workers::on(&[])));
        let payload = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert!(payload.downcast_ref::<&str>().unwrap().contains("no trustees"));
    });
}

/// Its clone panics once, on one member.
#[derive(NoRef)]
struct PanicsOnce(u32);

impl Clone for PanicsOnce {
    fn clone(&self) -> Self {
        assert!(self.0 != 1, "planned");
        Self(self.0)
    }
}

/// A member that catches a panic in a collective goes on to the next one; or returns.
#[gossamer::delegate]
fn leave_and_go_on(goes_on: bool) {
    let outcomes = Workers::all().each_with(
        const {
            |member: &TeamMember, goes_on: bool| {
                let caught = |call: &dyn Fn()| panic::catch_unwind(AssertUnwindSafe(call)).err();
                let why = caught(&|| {
                    member.all_reduce(PanicsOnce(member.index() as u32), |one, other| {
                        PanicsOnce(one.0 + other.0)
                    });
                });
                if goes_on {
                    member.barrier();
                    assert_eq!(member.all_reduce(1, |one, other| one + other), member.count());
                }
                why.map(text_of)
            }
        },
        goes_on,
    );
    let has_left = "member 1 has left `TeamMember::all_reduce` by a panic, which it caught";
    for (number, outcome) in outcomes.iter().enumerate() {
        let text = outcome.as_ref().map_or("", String::as_str);
        assert!(text.contains(if number == 1 { "planned" } else { has_left }), "{number}: {outcomes:?}");
    }
}

#[test]
fn a_member_that_catches_a_panic_in_a_collective_tells_the_others() {
    in_runtime(2, || [true, false].into_iter().for_each(leave_and_go_on));
    on_nodes(2, 1, || [true, false].into_iter().for_each(leave_and_go_on));
}
