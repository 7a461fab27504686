//! What an idle worker does, by what it has seen.

use crate::worker::fibers::idleness::*;

fn uncrowded() -> Idleness {
    Idleness::new(Arc::default(), false)
}

/// Turns that find nothing until it is time to sleep.
fn turns_until_sleep(idleness: &Idleness) -> u32 {
    let mut turns = 1;
    while !idleness.is_time_to_sleep(0, true) {
        turns += 1;
    }
    idleness.note_sleep(Instant::now());
    turns
}

/// An idle time that a socket ends.
fn wait_for_socket(idleness: &Idleness) -> u32 {
    let turns = turns_until_sleep(idleness);
    idleness.note_poll(true);
    idleness.reset();
    turns
}

#[test]
fn a_worker_whose_work_comes_from_sockets_comes_to_sleep_at_once() {
    let idleness = uncrowded();
    for _ in 0..10 {
        wait_for_socket(&idleness);
    }
    assert_eq!(idleness.patience.get(), 0);
    idleness.note_offer(LONG);
    assert_eq!(turns_until_sleep(&idleness), 1);
    assert!(idleness.is_time_to_sleep(0, true), "it has been woken for nothing");
}

#[test]
fn a_worker_that_is_answered_soon_spins_again() {
    let idleness = uncrowded();
    for _ in 0..10 {
        wait_for_socket(&idleness);
    }
    for _ in 0..10 {
        // Woken sooner than it would have fallen asleep, or while it spins: some of these at least, on any machine.
        while idleness.patience.get() == 0 {
            turns_until_sleep(&idleness);
            idleness.reset();
        }
        idleness.is_time_to_sleep(0, true);
        idleness.reset();
    }
    assert_eq!(idleness.patience.get(), SPINS);
}

fn note_offers(idleness: &Idleness, time: Duration) {
    [time; 2].into_iter().for_each(|time| idleness.note_offer(time));
}

/// What a worker does while it remembers, and for how many idle times.
fn remembers(idleness: &Idleness) -> ((u32, u32), u32) {
    let (does, mut times) = ((idleness.spins(), idleness.most_offers()), 0);
    while idleness.memory.get() > 0 {
        assert_eq!((idleness.spins(), idleness.most_offers()), does);
        idleness.learn(Instant::now());
        times += 1;
    }
    (does, times)
}

#[test]
fn a_worker_beside_others_does_other_than_one_alone_for_a_while() {
    for (learns, time, does) in [
        (true, OFFER_TIME, (0, 1)),
        (true, LONG, (0, 0)),
        (false, OFFER_TIME, (0, OFFERS_TO_OTHERS)),
        (false, LONG, (SPINS, 0)),
    ] {
        let idleness = uncrowded();
        idleness.learns.set(learns);
        note_offers(&idleness, time);
        assert_eq!(remembers(&idleness), (does, MEMORY));
        assert_eq!((idleness.spins(), idleness.most_offers()), (SPINS, OFFERS));
    }
}

#[test]
fn who_uses_the_processor_for_long_again_and_again_is_asked_more_and_more_seldom() {
    let idleness = uncrowded();
    note_offers(&idleness, LONG);
    for times in [MEMORY, 4 * MEMORY, 16 * MEMORY] {
        assert_eq!(remembers(&idleness), ((SPINS, 0), times));
        idleness.note_offer(LONG);
    }
    (0..10).for_each(|_| idleness.note_offer(LONG));
    assert_eq!(remembers(&idleness).1, LONGEST_MEMORY);
    idleness.note_offer(OFFER_TIME);
    note_offers(&idleness, LONG);
    assert_eq!(remembers(&idleness).1, MEMORY);
}

#[test]
fn turns_of_many_workers_that_share_processors_are_not_taken_for_such_a_program_either() {
    for (is_crowded, company) in [(false, Company::Long), (true, Company::Brief)] {
        let idleness = Idleness::new(Arc::default(), is_crowded);
        note_offers(&idleness, LONG);
        assert_eq!(idleness.company.get(), company);
        note_offers(&idleness, LONG_AMONG_WORKERS);
        assert_eq!(idleness.company.get(), Company::Long);
    }
}

#[test]
fn a_worker_of_the_same_processor_that_offers_at_once_as_well_is_noticed() {
    for (is_crowded, company) in [(false, Company::Nobody), (true, Company::Brief)] {
        let idleness = Idleness::new(Arc::default(), is_crowded);
        idleness.note_offer(OFFER_TIME_AMONG_WORKERS);
        assert_eq!(idleness.company.get(), company);
    }
}

#[test]
fn one_long_turn_of_another_worker_is_not_taken_for_a_program_that_does_not_wait() {
    let idleness = uncrowded();
    for time in [OFFER_TIME, LONG, OFFER_TIME, LONG, Duration::ZERO, LONG] {
        idleness.note_offer(time);
        assert_eq!(idleness.company.get(), Company::Brief);
    }
}

#[test]
fn a_worker_that_does_not_spin_offers_now_and_then_all_the_same() {
    let idleness = uncrowded();
    idleness.learns.set(true);
    idleness.patience.set(0);
    for _ in 0..PROBE_EVERY {
        assert_eq!(idleness.most_offers(), 0);
        idleness.note_poll(true);
        idleness.learn(Instant::now());
    }
    assert_eq!(idleness.most_offers(), 1);
}

#[test]
fn a_worker_without_sockets_is_always_patient() {
    let idleness = uncrowded();
    idleness.patience.set(0);
    idleness.is_time_to_sleep(0, false);
    assert_eq!((idleness.spins(), idleness.most_offers()), (SPINS, OFFERS));
}
