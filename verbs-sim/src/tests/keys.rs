//! Keys: rights, bounds, domains, and registering.

use super::kit::*;
use crate::types::*;
use libc::{EBUSY, EFAULT, EINVAL};
use std::ffi::c_int;
use std::sync::Arc;

/// How a signalled work request ends, and the event that its target gets, if it fails there.
fn ends_with(one: &End, two: &End, work: Work) -> u32 {
    one.post(&[work]);
    let status = one.wait().status;
    if status == IBV_WC_REM_ACCESS_ERR {
        assert_eq!(two.event(), IBV_EVENT_QP_ACCESS_ERR);
    }
    status
}

/// A region of the same memory with other rights, or of another domain.
fn region(of: &End, domain: &Arc<Domain>, access: u32) -> Region {
    made(Region::of(domain, &of.memory, access))
}

#[test]
fn an_unknown_remote_key_is_a_remote_access_error() {
    let (one, two) = connected(Plan::default());
    let place = Place { rkey: two.place().rkey ^ 0xff00, ..two.place() };
    let status = ends_with(&one, &two, Work::write(1, SIGNALED, one.words(0, 1), place, 0));
    assert_eq!(status, IBV_WC_REM_ACCESS_ERR);
}

#[test]
fn a_local_key_is_no_remote_key() {
    let (one, two) = connected(Plan::default());
    let place = Place { rkey: two.words(0, 1).lkey, ..two.place() };
    let status = ends_with(&one, &two, Work::write(1, SIGNALED, one.words(0, 1), place, 0));
    assert_eq!(status, IBV_WC_REM_ACCESS_ERR);
}

#[test]
fn a_write_beyond_the_region_is_a_remote_access_error_and_nothing_of_it_lands() {
    let (one, two) = connected(Plan::default());
    one.set(0, [1, 1]);
    let status = ends_with(&one, &two, Work::write(1, SIGNALED, one.words(0, 2), two.place(), WORDS - 1));
    assert_eq!(status, IBV_WC_REM_ACCESS_ERR);
    assert_eq!(two.get(WORDS - 1), 0);
}

#[test]
fn a_region_allows_from_afar_only_what_it_was_registered_for() {
    for (access, may_write, may_read) in [
        (IBV_ACCESS_LOCAL_WRITE, false, false),
        (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, true, false),
        (IBV_ACCESS_REMOTE_READ, false, true),
    ] {
        for (is_read, allowed) in [(false, may_write), (true, may_read)] {
            let (one, two) = connected(Plan::default());
            let limited = region(&two, &two.domain, access);
            let place = Place { rkey: limited.remote_key(), ..two.place() };
            let work = if is_read { Work::read } else { Work::write };
            let status = ends_with(&one, &two, work(1, SIGNALED, one.words(0, 1), place, 0));
            assert_eq!(
                status,
                if allowed { IBV_WC_SUCCESS } else { IBV_WC_REM_ACCESS_ERR },
                "{access} {is_read}"
            );
        }
    }
}

#[test]
fn a_queue_pair_allows_from_afar_only_what_its_flags_say() {
    for (access, is_read) in [(IBV_ACCESS_REMOTE_READ, false), (IBV_ACCESS_REMOTE_WRITE, true)] {
        let (one, two) = connected(Plan { access, ..Plan::default() });
        let work = if is_read { Work::read } else { Work::write };
        let status = ends_with(&one, &two, work(1, SIGNALED, one.words(0, 1), two.place(), 0));
        assert_eq!(status, IBV_WC_REM_ACCESS_ERR);
    }
}

#[test]
fn a_key_of_another_protection_domain_opens_nothing() {
    let (one, two) = connected(Plan::default());
    let domain = made(Domain::new(&two.context));
    let foreign = region(&two, &domain, ALL);
    let place = Place { rkey: foreign.remote_key(), ..two.place() };
    let status = ends_with(&one, &two, Work::write(1, SIGNALED, one.words(0, 1), place, 0));
    assert_eq!(status, IBV_WC_REM_ACCESS_ERR);
    assert_eq!(domain.destroy_in_use(), EBUSY, "it still has a region");
}

#[test]
fn a_local_key_is_checked_for_bounds_rights_and_domain() {
    let read_only = |one: &End| region(one, &one.domain, IBV_ACCESS_REMOTE_READ);
    for case in ["unknown", "bounds", "right", "domain"] {
        let (one, two) = connected(Plan::default());
        let other = made(Domain::new(&one.context));
        let (limited, foreign) = (read_only(&one), region(&one, &other, ALL));
        let mut from = one.words(0, 1);
        match case {
            "unknown" => from.lkey ^= 0xff00,
            "bounds" => from.addr += WORDS as u64 * 8,
            "right" => from.lkey = limited.local_key(),
            _ => from.lkey = foreign.local_key(),
        }
        // Only what a READ brings is written here.
        let work = if case == "right" { Work::read } else { Work::write };
        assert_eq!(
            ends_with(&one, &two, work(1, SIGNALED, from, two.place(), 0)),
            IBV_WC_LOC_PROT_ERR,
            "{case}"
        );
    }
}

#[test]
fn a_region_that_is_deregistered_is_touched_no_more() {
    let (one, two) = connected(Plan::default());
    let place = two.place();
    let writes: Vec<Work> =
        (0..20).map(|id| Work::write(id, SIGNALED, one.words(0, 1024), place, 0)).collect();
    one.set(0, [1; 1024]);
    let memory = {
        // The memory is freed at once: the address sanitizer would notice a use.
        let mut memory: Vec<u64> = vec![0; 1024];
        let address = memory.as_mut_ptr();
        // SAFETY: T4: it is not accessed, nor freed, before the region is dropped.
        let region = made(unsafe { Region::new(&two.domain, address.cast(), 8192, ALL) });
        let place = Place { rkey: region.remote_key(), address: address as u64, ..place };
        let aimed =
            writes.iter().map(|work| Work { rkey: place.rkey, address: place.address, ..work.clone() });
        one.post(&aimed.collect::<Vec<_>>());
        std::thread::yield_now();
        drop(region);
        memory.clone()
    };
    let statuses = one.statuses(20);
    let failed = statuses.iter().position(|(_, status)| *status != IBV_WC_SUCCESS);
    if let Some(first) = failed {
        assert_eq!(statuses[first].1, IBV_WC_REM_ACCESS_ERR);
        assert!(statuses[first + 1..].iter().all(|(_, status)| *status == IBV_WC_WR_FLUSH_ERR));
    }
    drop(memory);
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let end = End::new(Plan::default());
    let refused = |address: usize, length: usize, access: u32, error: c_int| {
        // SAFETY: nobody learns its keys.
        assert!(unsafe { Region::new(&end.domain, address as *mut _, length, access) }.is_none());
        assert_eq!(errno(), error);
    };
    let address = end.memory.as_ptr() as usize;
    refused(address, 8, IBV_ACCESS_REMOTE_WRITE, EINVAL);
    refused(address, 0, ALL, EINVAL);
    refused(4096, 4096, ALL, EFAULT);
}

#[test]
fn registered_bytes_are_counted_in_pages_up_to_the_limit() {
    with_devices(
        "tests::keys::registered_bytes_are_counted_in_pages_up_to_the_limit",
        "a memlock=8192 port=1",
        || {
            let context = open(0);
            let domain = made(Domain::new(&context));
            let memory = vec![0_u64; 2048];
            let page = (memory.as_ptr() as usize).next_multiple_of(4096);
            // SAFETY: nobody learns its keys.
            let register = |length| unsafe { Region::new(&domain, page as *mut _, length, ALL) };
            let first = made(register(1));
            assert_eq!(counter(c"pinned"), 4096);
            assert!(register(4097).is_none());
            assert_eq!(errno(), libc::ENOMEM);
            let second = register(4096);
            assert!(second.is_some(), "two pages are allowed");
            drop((first, second, domain));
            assert_eq!(counter(c"objects"), 0);
        },
    );
}
