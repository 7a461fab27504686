//! WRITE and READ: what lands, when, in which order, and when a buffer is free.

use super::kit::*;
use crate::types::*;
use libc::{EINVAL, ENOMEM};
use std::sync::atomic::Ordering;

#[test]
fn a_write_lands_and_completes_if_it_is_signalled() {
    let (one, two) = connected(Plan::default());
    one.set(0, 1..=100);
    one.post(&[
        Work::write(1, 0, one.words(0, 50), two.place(), 10),
        Work::write(2, SIGNALED, one.words(50, 50), two.place(), 60),
    ]);
    let wc = one.wait();
    assert_eq!((wc.wr_id, wc.status, wc.opcode), (2, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE));
    assert_eq!(wc.qp_num, one.place().number);
    assert!((0..100).all(|word| two.get(10 + word) == 1 + word as u64));
    assert_eq!((two.get(9), two.get(110)), (0, 0), "nothing beside it is written");
}

#[test]
fn scatter_entries_land_one_behind_the_other_at_any_alignment() {
    let (one, two) = connected(Plan::default());
    let bytes: Vec<u8> = (0..=255).collect();
    one.set(0, bytes.chunks(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap())));
    let part =
        |from: u64, length: u32| ibv_sge { addr: one.words(0, 1).addr + from, length, ..one.words(0, 1) };
    let mut work = Work::write(1, SIGNALED, part(3, 5), two.place(), 0);
    work.from.extend([part(100, 1), part(32, 0), part(40, 21)]);
    work.address += 5;
    one.post(&[work]);
    one.wait();
    let landed: Vec<u8> =
        two.memory[..8].iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
    let sent: Vec<u8> = (3..8).chain([100]).chain(40..61).collect();
    assert_eq!(landed[5..32], sent);
    assert!(landed[..5].iter().chain(&landed[32..]).all(|byte| *byte == 0));
}

#[test]
fn the_words_of_one_write_land_in_any_order_and_later_than_the_call_returns() {
    let (one, two) = connected(Plan::default());
    let (mut torn, mut late) = (false, false);
    for round in 1..2000 {
        one.set(0, [round; 64]);
        one.post(&[Work::write(round, SIGNALED, one.words(0, 64), two.place(), 0)]);
        late |= two.get(63) != round;
        let done = wait_for(|| {
            // The last word is there: is the first one?
            torn |= two.get(63) == round && two.get(0) != round;
            one.poll()
        });
        assert_eq!(done.status, IBV_WC_SUCCESS);
        if torn && late {
            return;
        }
    }
    panic!("torn: {torn}, late: {late}");
}

#[test]
fn writes_of_one_queue_pair_land_one_after_the_other() {
    let (one, two) = connected(Plan::default());
    for round in 1..300 {
        one.set(0, [round; 40]);
        one.set(40, [round]);
        one.post(&[
            Work::write(0, 0, one.words(0, 40), two.place(), 1),
            Work::write(round, SIGNALED, one.words(40, 1), two.place(), 0),
        ]);
        wait_for(|| (two.get(0) == round).then_some(()));
        assert!((1..=40).all(|word| two.get(word) == round), "the body is there before the header");
        one.wait();
    }
}

#[test]
fn who_changes_a_buffer_before_its_completion_sends_garbage_unless_it_is_inline() {
    let changed = |flags: u32| {
        let (one, two) = connected(Plan::default());
        (0..200).any(|round| {
            one.set(0, [1; 8]);
            one.post(&[Work::write(round, SIGNALED | flags, one.words(0, 8), two.place(), 0)]);
            one.set(0, [2; 8]);
            one.wait();
            (0..8).any(|word| two.get(word) == 2)
        })
    };
    assert!(changed(0), "memory is read late");
    assert!(!changed(INLINE), "inline data is copied at once");
}

#[test]
fn inline_data_needs_no_key() {
    let (one, two) = connected(Plan::default());
    let value = [5_u64, 6];
    let from = ibv_sge { addr: value.as_ptr() as u64, length: 16, lkey: 0 };
    let work = Work::write(1, SIGNALED | INLINE, from, two.place(), 0);
    // SAFETY: the values live until the end of this test.
    assert_eq!(unsafe { one.try_post_inline(&[work]) }, Ok(()));
    assert_eq!(one.wait().status, IBV_WC_SUCCESS);
    assert_eq!((two.get(0), two.get(1)), (5, 6));
}

#[test]
fn long_messages_arrive_whole() {
    let (one, two) = connected(Plan { timeout: 14, ..Plan::default() });
    one.set(0, (0..WORDS as u64).map(|word| word * word));
    one.post(&[Work::write(1, SIGNALED, one.words(0, WORDS), two.place(), 0)]);
    assert_eq!(one.wait().status, IBV_WC_SUCCESS);
    assert!((0..WORDS).all(|word| two.get(word) == (word * word) as u64));
    two.set(0, [9; WORDS]);
    one.post(&[Work::read(2, SIGNALED, one.words(0, WORDS), two.place(), 0)]);
    let wc = one.wait();
    assert_eq!((wc.status, wc.opcode, wc.byte_len), (IBV_WC_SUCCESS, IBV_WC_RDMA_READ, WORDS as u32 * 8));
    assert!((0..WORDS).all(|word| one.get(word) == 9));
}

#[test]
fn a_read_sees_the_writes_before_it_and_goes_into_several_regions() {
    let (one, two) = connected(Plan::default());
    one.set(0, [7, 8, 9]);
    let mut read = Work::read(2, SIGNALED, one.words(100, 1), two.place(), 0);
    read.from.push(one.words(200, 2));
    one.post(&[Work::write(1, 0, one.words(0, 3), two.place(), 0), read]);
    assert_eq!(one.statuses(1), [(2, IBV_WC_SUCCESS)]);
    assert_eq!((one.get(100), one.get(200), one.get(201)), (7, 8, 9));
}

#[test]
fn a_fenced_write_sends_what_the_read_before_it_brought_and_an_unfenced_one_may_not() {
    let (one, two) = connected(Plan::default());
    let stale = |flags: u32| {
        one.set(0, [0]);
        two.set(0, [1]);
        two.set(1, [2]);
        one.post(&[
            Work::read(1, 0, one.words(0, 1), two.place(), 0),
            Work::write(2, SIGNALED | flags, one.words(0, 1), two.place(), 1),
        ]);
        one.wait();
        two.get(1) == 0
    };
    assert!(!(0..200).any(|_| stale(IBV_SEND_FENCE)));
    assert!((0..200).any(|_| stale(0)));
}

#[test]
fn immediate_data_comes_after_its_data_and_takes_a_receive() {
    let (one, two) = connected(Plan::default());
    for round in 1..200 {
        assert_eq!(two.receive(round), 0);
        one.set(0, [round; 30]);
        one.post(&[Work::immediate(round, SIGNALED, one.words(0, 30), two.place(), 0, 77)]);
        let wc = two.wait();
        assert_eq!((wc.wr_id, wc.opcode, wc.byte_len), (round, IBV_WC_RECV_RDMA_WITH_IMM, 240));
        assert_eq!((immediate(&wc), wc.wc_flags & IBV_WC_WITH_IMM), (77, IBV_WC_WITH_IMM));
        assert!((0..30).all(|word| two.get(word) == round));
        assert_eq!(one.wait().wr_id, round);
    }
}

#[test]
fn a_full_send_queue_takes_no_more_until_a_signalled_completion_is_polled() {
    let plan = Plan { cap: ibv_qp_cap { max_send_wr: 4, ..Plan::default().cap }, ..Plan::default() };
    let (one, two) = connected(plan);
    assert_eq!(one.pair.granted.max_send_wr, 4);
    let work = |id: u64, flags: u32| Work::write(id, flags, one.words(0, 1), two.place(), 0);
    let chain = [work(1, 0), work(2, 0), work(3, SIGNALED), work(4, 0), work(5, 0), work(6, 0)];
    assert_eq!(one.try_post(&chain), Err((ENOMEM, 4)), "the fifth is refused, and named");
    let wc = wait_for(|| {
        // Everything may be done, but nobody has polled.
        assert_eq!(one.try_post(&[work(7, 0)]), Err((ENOMEM, 0)));
        std::thread::yield_now();
        one.poll()
    });
    assert_eq!(wc.wr_id, 3);
    one.post(&[work(8, 0), work(9, 0), work(10, 0)]);
    assert_eq!(
        one.try_post(&[work(11, 0)]),
        Err((ENOMEM, 0)),
        "the fourth still has no completion behind it"
    );
}

#[test]
fn what_no_queue_pair_can_do_is_refused_when_it_is_posted() {
    let (one, two) = connected(Plan::default());
    let refused = |work: Work| one.try_post(&[work]) == Err((EINVAL, 0));
    let place = two.place();
    assert!(refused(Work::write(1, INLINE, one.words(0, 9), place, 0)), "inline data is too long");
    let mut entries = Work::write(1, 0, one.words(0, 1), place, 0);
    entries.from = vec![one.words(0, 1); 5];
    assert!(refused(entries), "too many scatter entries");
    assert!(refused(Work::read(1, INLINE, one.words(0, 1), place, 0)), "an inline READ");
    assert!(refused(Work { opcode: 2, ..Work::write(1, 0, one.words(0, 1), place, 0) }), "a SEND");
    let unconnected = End::new(Plan::default());
    let early = Work::write(1, 0, unconnected.words(0, 1), place, 0);
    assert_eq!(unconnected.try_post(&[early]), Err((EINVAL, 0)), "it is not ready to send");
}

#[test]
fn a_receive_queue_has_an_end_and_is_open_before_the_connection() {
    let plan = Plan { cap: ibv_qp_cap { max_recv_wr: 2, ..Plan::default().cap }, ..Plan::default() };
    let end = End::new(plan);
    assert_eq!(end.receive(1), EINVAL, "in the state reset");
    end.init();
    assert_eq!([end.receive(1), end.receive(2), end.receive(3)], [0, 0, ENOMEM]);
}

#[test]
fn hundreds_of_thousands_of_writes_all_land() {
    let plan =
        Plan { cqe: 1024, cap: ibv_qp_cap { max_send_wr: 256, ..Plan::default().cap }, ..Plan::default() };
    let (one, two) = connected(plan);
    let mut under_way = 0;
    for round in 1..=100_000 {
        one.set(0, [round]);
        let works = [
            Work::write(0, INLINE, one.words(0, 1), two.place(), 1),
            Work::write(
                round,
                INLINE | if round % 16 == 0 { SIGNALED } else { 0 },
                one.words(0, 1),
                two.place(),
                0,
            ),
        ];
        one.post(&works);
        under_way += works.len();
        if round % 16 == 0 && under_way > 200 {
            assert_eq!(one.wait().status, IBV_WC_SUCCESS);
            under_way -= 32;
        }
    }
    wait_for(|| (two.get(0) == 100_000 && two.get(1) == 100_000).then_some(()));
}

#[test]
fn calls_come_from_many_threads() {
    let plan = Plan { cap: ibv_qp_cap { max_send_wr: 16, ..Plan::default().cap }, ..Plan::default() };
    let (one, two) = connected(plan);
    let place = two.place();
    let (threads, rounds) = (4, 300);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let one = &one;
            scope.spawn(move || {
                for round in 1..=rounds {
                    one.set(thread, [round]);
                    let work =
                        Work::write(thread as u64, SIGNALED | INLINE, one.words(thread, 1), place, thread);
                    // The queue may be full.
                    wait_for(|| one.try_post(std::slice::from_ref(&work)).ok());
                }
            });
        }
        let mut counts = vec![0; threads];
        for _ in 0..threads as u64 * rounds {
            let wc = one.wait();
            assert_eq!(wc.status, IBV_WC_SUCCESS);
            counts[wc.wr_id as usize] += 1;
        }
        assert_eq!(counts, vec![rounds; threads]);
    });
    assert!((0..threads).all(|thread| two.get(thread) == rounds));
}
