//! Errors: statuses, flushing, retries, and which side is informed.

use super::kit::*;
use crate::symbols::*;
use crate::types::*;
use libc::{EINVAL, EIO};
use std::time::{Duration, Instant};

fn writes(one: &End, two: &End, ids: impl IntoIterator<Item = u64>) -> Vec<Work> {
    ids.into_iter().map(|id| Work::write(id, 0, one.words(0, 1), two.place(), 0)).collect()
}

#[test]
fn the_first_error_tells_the_reason_and_all_behind_it_are_flushed_in_order_in_both_queues() {
    let (one, two) = connected(Plan::default());
    assert_eq!([one.receive(10), one.receive(11)], [0, 0]);
    let mut works = writes(&one, &two, 1..5);
    works[1].rkey ^= 0xff00;
    one.post(&works);
    let expected = [(2, IBV_WC_REM_ACCESS_ERR), (3, 5), (4, 5), (10, 5), (11, 5)];
    assert_eq!(one.statuses(5), expected, "unsignalled ones, too");
    one.post(&writes(&one, &two, [6]));
    assert_eq!(one.receive(12), 0);
    assert_eq!(
        one.statuses(2),
        [(6, IBV_WC_WR_FLUSH_ERR), (12, IBV_WC_WR_FLUSH_ERR)],
        "also what comes later"
    );
}

#[test]
fn what_was_done_before_a_local_error_completes_before_it() {
    let (one, two) = connected(Plan::default());
    let mut works = writes(&one, &two, 1..4);
    works.iter_mut().for_each(|work| work.flags = SIGNALED);
    works[2].from[0].lkey ^= 0xff00;
    one.post(&works);
    assert_eq!(one.statuses(3), [(1, IBV_WC_SUCCESS), (2, IBV_WC_SUCCESS), (3, IBV_WC_LOC_PROT_ERR)]);
}

#[test]
fn an_error_at_the_target_flushes_its_receives_and_the_way_back_is_dead_too() {
    let (one, two) = connected(Plan::default());
    assert_eq!(two.receive(9), 0);
    let mut works = writes(&one, &two, [1]);
    works[0].address += WORDS as u64 * 8;
    one.post(&works);
    assert_eq!(one.statuses(1), [(1, IBV_WC_REM_ACCESS_ERR)]);
    assert_eq!(two.event(), IBV_EVENT_QP_ACCESS_ERR);
    assert_eq!(two.statuses(1), [(9, IBV_WC_WR_FLUSH_ERR)]);
    two.post(&writes(&two, &one, [2]));
    assert_eq!(two.statuses(1), [(2, IBV_WC_WR_FLUSH_ERR)]);
}

#[test]
fn a_peer_in_the_error_state_is_silent_until_retries_run_out() {
    // 4.096 us * 2^13 = 34 ms, three times.
    let (one, two) = connected(Plan { timeout: 13, retries: 2, ..Plan::default() });
    two.fail();
    let begin = Instant::now();
    one.post(&writes(&one, &two, [1, 2]));
    assert_eq!(one.statuses(2), [(1, IBV_WC_RETRY_EXC_ERR), (2, IBV_WC_WR_FLUSH_ERR)]);
    assert!(begin.elapsed() >= Duration::from_millis(100), "{:?}", begin.elapsed());
}

#[test]
fn a_peer_that_becomes_ready_in_time_is_reached_by_a_retry() {
    let (one, two) =
        (End::new(Plan { timeout: 20, retries: 7, ..Plan::default() }), End::new(Plan::default()));
    one.connect(two.place());
    two.init();
    one.set(0, [3]);
    let mut works = writes(&one, &two, [1, 2]);
    works[1].flags = SIGNALED;
    one.post(&works);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(one.poll().map(|wc| wc.status), None);
    assert_eq!(two.ready_to_receive(one.place()), 0);
    assert_eq!(one.statuses(1), [(2, IBV_WC_SUCCESS)]);
    assert_eq!(two.get(0), 3);
    assert_eq!(two.event(), IBV_EVENT_COMM_EST, "it does not send yet");
}

#[test]
fn a_queue_pair_that_is_destroyed_is_silent() {
    let (one, two) = connected(Plan::default());
    let works = writes(&one, &two, [1]);
    drop(two);
    one.post(&works);
    assert_eq!(one.statuses(1), [(1, IBV_WC_RETRY_EXC_ERR)]);
}

#[test]
fn an_idle_queue_pair_does_not_notice_that_its_peer_is_gone() {
    let (one, two) = connected(Plan::default());
    drop(two);
    std::thread::sleep(Duration::from_millis(50));
    assert!(one.poll().is_none());
    assert!(!is_readable(one.context.descriptor(), 0));
}

#[test]
fn a_wrong_first_packet_number_is_no_connection() {
    for wrong in [6, 8] {
        let (one, two) = (End::new(Plan::default()), End::new(Plan::default()));
        one.connect(two.place());
        two.connect(Place { psn: wrong, ..one.place() });
        one.set(0, [1]);
        one.post(&writes(&one, &two, [1]));
        assert_eq!(one.statuses(1), [(1, IBV_WC_RETRY_EXC_ERR)]);
        assert_eq!(two.get(0), 0);
    }
}

#[test]
fn a_wrong_gid_is_no_connection() {
    let (one, two) = (End::new(Plan::default()), End::new(Plan::default()));
    one.connect(Place { gid: [1; 16], ..two.place() });
    two.connect(one.place());
    one.post(&writes(&one, &two, [1]));
    assert_eq!(one.statuses(1), [(1, IBV_WC_RETRY_EXC_ERR)]);
}

#[test]
fn packet_numbers_wrap_around() {
    let (one, two) = connected(Plan { psn: 0xff_fffe, ..Plan::default() });
    for round in 1..10 {
        one.set(0, [round]);
        one.post(&[Work::write(round, SIGNALED, one.words(0, 512), two.place(), 0)]);
        assert_eq!(one.statuses(1), [(round, IBV_WC_SUCCESS)]);
        assert_eq!(two.get(0), round);
    }
}

#[test]
fn immediate_data_without_a_receive_is_tried_again_and_counted() {
    let (one, two) = connected(Plan::default());
    let before = counter(c"rnr");
    one.set(0, [4]);
    one.post(&[Work::immediate(1, SIGNALED, one.words(0, 1), two.place(), 0, 1)]);
    wait_for(|| (counter(c"rnr") > before + 2).then_some(()));
    assert!(one.poll().is_none());
    assert_eq!(two.receive(9), 0);
    assert_eq!(two.statuses(1), [(9, IBV_WC_SUCCESS)]);
    assert_eq!(one.statuses(1), [(1, IBV_WC_SUCCESS)]);
}

#[test]
fn without_a_receive_in_time_it_is_given_up() {
    let (one, two) = connected(Plan { rnr_retries: 2, ..Plan::default() });
    one.post(&[Work::immediate(1, 0, one.words(0, 1), two.place(), 0, 1)]);
    assert_eq!(one.statuses(1), [(1, IBV_WC_RNR_RETRY_EXC_ERR)]);
}

#[test]
fn reads_need_resources_at_both_ends() {
    let (one, two) = connected(Plan { reads: 0, ..Plan::default() });
    one.post(&[Work::read(1, 0, one.words(0, 1), two.place(), 0)]);
    assert_eq!(one.statuses(1), [(1, IBV_WC_LOC_QP_OP_ERR)]);
    let (one, two) = (End::new(Plan::default()), End::new(Plan { reads: 0, ..Plan::default() }));
    one.connect(two.place());
    two.connect(one.place());
    one.post(&[Work::read(1, 0, one.words(0, 1), two.place(), 0)]);
    assert_eq!(one.statuses(1), [(1, IBV_WC_REM_INV_REQ_ERR)]);
    assert_eq!(two.event(), IBV_EVENT_QP_REQ_ERR);
}

#[test]
fn a_queue_pair_can_be_broken_from_outside() {
    let (one, two) = connected(Plan::default());
    assert_eq!(verbs_sim_break(one.place().number, IBV_WC_REM_OP_ERR), 0);
    one.post(&writes(&one, &two, [1, 2]));
    assert_eq!(one.statuses(2), [(1, IBV_WC_REM_OP_ERR), (2, IBV_WC_WR_FLUSH_ERR)]);
    assert_eq!(two.receive(3), 0);
    assert_eq!(verbs_sim_break(two.place().number, 0), 0);
    assert_eq!(two.event(), IBV_EVENT_QP_FATAL);
    assert_eq!(two.statuses(1), [(3, IBV_WC_WR_FLUSH_ERR)]);
    assert_eq!(verbs_sim_break(1, 0), EINVAL);
}

#[test]
fn a_queue_pair_begins_anew_after_a_reset() {
    let (one, two) = connected(Plan::default());
    one.fail();
    two.fail();
    one.post(&writes(&one, &two, [1]));
    for end in [&one, &two] {
        assert_eq!(end.modify(&mut ibv_qp_attr { qp_state: IBV_QPS_RESET, ..Default::default() }, 0), 0);
    }
    one.connect(two.place());
    two.connect(one.place());
    one.post(&[Work::write(2, SIGNALED, one.words(0, 1), two.place(), 0)]);
    assert_eq!(one.statuses(1), [(2, IBV_WC_SUCCESS)], "completions from before are forgotten");
}

#[test]
fn states_follow_each_other_in_order_with_all_their_attributes() {
    let (one, two) = (End::new(Plan::default()), End::new(Plan::default()));
    assert_eq!(one.ready_to_receive(two.place()), EINVAL);
    let mut init = ibv_qp_attr { qp_state: IBV_QPS_INIT, port_num: 1, ..Default::default() };
    assert_eq!(one.modify(&mut init, IBV_QP_PORT), EINVAL, "attributes are missing");
    let place = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    assert_eq!(one.modify(&mut init, place | IBV_QP_TIMEOUT), EINVAL, "one too many");
    assert_eq!(one.modify(&mut ibv_qp_attr { port_num: 2, ..init }, place), EINVAL, "there is no such port");
    one.init();
    assert_eq!(one.pair.state(), IBV_QPS_INIT);
    assert_eq!(one.ready_to_receive(two.place()), 0);
    let no_gid = End::new(Plan { gid: 9, ..Plan::default() });
    no_gid.init();
    assert_eq!(no_gid.ready_to_receive(two.place()), EINVAL, "a hole in the GID table");
}

#[test]
fn numbers_of_queue_pairs_are_not_used_again_soon() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..300 {
        assert!(seen.insert(End::new(Plan::default()).place().number));
    }
}

#[test]
fn a_failed_device_flushes_all_and_takes_nothing_more() {
    with_devices(
        "tests::errors::a_failed_device_flushes_all_and_takes_nothing_more",
        "a fault=3:fatal port=1 gid=3:v2:10.0.0.1",
        || {
            let (one, two) = connected(Plan::default());
            assert_eq!(two.receive(9), 0);
            let later = writes(&one, &two, [7]);
            one.post(&writes(&one, &two, 1..6));
            assert!(one.statuses(1)[0].1 == IBV_WC_WR_FLUSH_ERR);
            assert_eq!(two.statuses(1), [(9, IBV_WC_WR_FLUSH_ERR)]);
            assert_eq!((one.event(), two.event()), (IBV_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL));
            assert_eq!(one.try_post(&later), Err((EIO, 0)));
            assert!(Domain::new(&one.context).is_none());
            assert_eq!(errno(), EIO);
        },
    );
}

#[test]
fn the_configuration_breaks_the_work_request_that_it_names() {
    with_devices(
        "tests::errors::the_configuration_breaks_the_work_request_that_it_names",
        "a fault=3:12 port=1 gid=3:v2:10.0.0.1",
        || {
            let (one, two) = connected(Plan::default());
            one.post(&writes(&one, &two, 1..6));
            assert_eq!(one.statuses(3), [(3, IBV_WC_RETRY_EXC_ERR), (4, 5), (5, 5)]);
            assert_eq!((counter(c"post_send"), counter(c"writes"), counter(c"bytes")), (1, 5, 40));
        },
    );
}

#[test]
fn a_port_that_goes_down_holds_requests_up_and_ends_them_only_if_it_stays_down() {
    with_devices(
        "tests::errors::a_port_that_goes_down_holds_requests_up_and_ends_them_only_if_it_stays_down",
        "a port=1 gid=3:v2:10.0.0.1",
        || {
            let (one, two) = connected(Plan { timeout: 15, retries: 7, ..Plan::default() });
            assert_eq!(verbs_sim_port(0, 1, 0), 0);
            assert_eq!(one.event(), IBV_EVENT_PORT_ERR);
            assert_eq!(one.context.port(1).map(|port| port.state), Ok(IBV_PORT_DOWN));
            let mut works = writes(&one, &two, [1, 2]);
            works[1].flags = SIGNALED;
            one.post(&works);
            std::thread::sleep(Duration::from_millis(20));
            assert!(one.poll().is_none());
            assert_eq!(verbs_sim_port(0, 1, 1), 0);
            assert_eq!(one.event(), IBV_EVENT_PORT_ACTIVE);
            assert_eq!(one.statuses(1), [(2, IBV_WC_SUCCESS)]);
            assert_eq!(verbs_sim_port(0, 1, 0), 0);
            one.post(&works);
            assert_eq!(one.statuses(2), [(1, IBV_WC_RETRY_EXC_ERR), (2, IBV_WC_WR_FLUSH_ERR)]);
        },
    );
}

#[test]
fn a_request_whose_answer_was_lost_is_not_carried_out_twice() {
    let test = "tests::errors::a_request_whose_answer_was_lost_is_not_carried_out_twice";
    with_devices(test, "a port=1 gid=3:v2:10.0.0.1; b port=1 gid=3:v2:10.0.0.2", || {
        let of = |device| End::new(Plan { device, timeout: 14, retries: 7, ..Plan::default() });
        let (one, two) = (of(0), of(1));
        one.connect(two.place());
        two.connect(one.place());
        // Ends with the process.
        std::thread::spawn(|| {
            loop {
                for (device, active, microseconds) in [(0, 0, 50), (0, 1, 1000), (1, 0, 50), (1, 1, 1000)] {
                    assert_eq!(verbs_sim_port(device, 1, active), 0);
                    std::thread::sleep(Duration::from_micros(microseconds));
                }
            }
        });
        let mut round = 0;
        while counter(c"retransmitted") < 5 {
            round += 1;
            let id = u64::from(round);
            assert_eq!(two.receive(id), 0);
            one.post(&[Work::immediate(id, SIGNALED, one.words(0, 1), two.place(), 0, round)]);
            let wc = two.wait();
            assert_eq!((wc.wr_id, immediate(&wc)), (id, round));
            assert_eq!(one.statuses(1), [(id, IBV_WC_SUCCESS)]);
        }
        assert!(two.poll().is_none());
    });
}
