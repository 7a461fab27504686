//! Completion queues: notification, overflow, destroying.

use super::kit::*;
use crate::symbols::*;
use crate::types::*;
use libc::{EAGAIN, EBUSY, EINVAL};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn write(one: &End, two: &End, id: u64) -> Work {
    Work::write(id, SIGNALED, one.words(0, 1), two.place(), 0)
}

fn has_event(end: &End) -> bool {
    is_readable(unsafe { (*end.channel).fd }, 0)
}

#[test]
fn an_armed_queue_raises_one_event_for_the_next_completion() {
    let (one, two) = connected(Plan::default());
    one.arm(false);
    assert!(!has_event(&one));
    one.post(&[write(&one, &two, 1), write(&one, &two, 2)]);
    one.take_event();
    assert_eq!(one.statuses(2), [(1, IBV_WC_SUCCESS), (2, IBV_WC_SUCCESS)]);
    assert!(!has_event(&one), "one shot");
    unsafe { ibv_ack_cq_events(one.queue, 1) };
}

#[test]
fn arming_tells_nothing_of_completions_that_are_there_already() {
    let test = "tests::completions::arming_tells_nothing_of_completions_that_are_there_already";
    with_devices(test, "a port=1 gid=3:v2:10.0.0.1", || {
        let (one, two) = connected(Plan::default());
        one.post(&[write(&one, &two, 1)]);
        wait_for(|| (counter(c"completions") == 1).then_some(()));
        one.arm(false);
        assert!(!has_event(&one));
        one.post(&[write(&one, &two, 2)]);
        one.take_event();
        unsafe { ibv_ack_cq_events(one.queue, 1) };
        assert_eq!(one.statuses(2).len(), 2);
    });
}

#[test]
fn who_arms_for_solicited_completions_hears_of_those_and_of_errors() {
    let (one, two) = connected(Plan::default());
    assert_eq!([two.receive(1), two.receive(2), two.receive(3)], [0; 3]);
    let immediate = |id, flags| Work::immediate(id, SIGNALED | flags, one.words(0, 1), two.place(), 0, 5);
    two.arm(true);
    one.post(&[immediate(1, 0)]);
    assert_eq!(two.wait().wr_id, 1);
    assert!(!has_event(&two));
    one.post(&[immediate(2, IBV_SEND_SOLICITED)]);
    two.take_event();
    two.arm(true);
    two.fail();
    two.take_event();
    unsafe { ibv_ack_cq_events(two.queue, 2) };
    assert_eq!(two.statuses(2), [(2, IBV_WC_SUCCESS), (3, IBV_WC_WR_FLUSH_ERR)]);
}

#[test]
fn arm_then_look_then_sleep_misses_nothing() {
    let (one, two) = connected(Plan::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let two = &two;
            let mut got = 0;
            while got < 500 {
                two.arm(false);
                let before = got;
                while let Some(wc) = two.poll() {
                    got += 1;
                    assert_eq!(wc.wr_id, got);
                    assert_eq!(two.receive(got + 64), 0);
                }
                if got == before || has_event(two) {
                    two.take_event();
                    unsafe { ibv_ack_cq_events(two.queue, 1) };
                }
            }
        });
        for id in 1..=500 {
            if id == 1 {
                assert!((1..=64).all(|receive| two.receive(receive) == 0));
            }
            one.post(&[Work::immediate(id, SIGNALED, one.words(0, 1), two.place(), 0, 0)]);
            assert_eq!(one.wait().status, IBV_WC_SUCCESS);
        }
    });
}

#[test]
fn a_channel_that_is_not_to_wait_says_that_there_is_nothing() {
    let end = End::new(Plan::default());
    unsafe {
        let descriptor = (*end.channel).fd;
        assert_eq!(libc::fcntl(descriptor, libc::F_SETFL, libc::O_NONBLOCK), 0);
        assert_eq!(ibv_get_cq_event(end.channel, &mut null_mut(), &mut null_mut()), -1);
        assert_eq!(errno(), EAGAIN);
    }
}

#[test]
fn a_queue_that_overflows_is_broken_and_its_queue_pairs_with_it() {
    let (one, two) = connected(Plan { cqe: 3, ..Plan::default() });
    let works: Vec<Work> = (1..=4).map(|id| write(&one, &two, id)).collect();
    one.post(&works);
    assert_eq!((one.event(), one.event()), (IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
    assert_eq!(one.statuses(3).len(), 3, "what there was can be polled");
    assert!(one.poll().is_none());
}

#[test]
fn a_receiver_whose_queue_overflows_is_a_remote_operation_error() {
    let (one, two) = (End::new(Plan::default()), End::new(Plan { cqe: 1, ..Plan::default() }));
    one.connect(two.place());
    two.connect(one.place());
    assert_eq!([two.receive(1), two.receive(2)], [0, 0]);
    let immediate = |id| Work::immediate(id, SIGNALED, one.words(0, 1), two.place(), 0, 5);
    one.post(&[immediate(1), immediate(2)]);
    assert_eq!(one.statuses(2), [(1, IBV_WC_SUCCESS), (2, IBV_WC_REM_OP_ERR)]);
    assert_eq!((two.event(), two.event()), (IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
}

#[test]
fn a_queue_in_use_is_not_destroyed_nor_its_channel() {
    let end = End::new(Plan::default());
    unsafe {
        assert_eq!(ibv_destroy_cq(end.queue), EBUSY);
        assert_eq!(ibv_destroy_comp_channel(end.channel), EBUSY);
        assert_eq!(ibv_dealloc_pd(end.domain), EBUSY);
    }
}

#[test]
fn destroying_a_queue_waits_until_its_events_are_acknowledged() {
    let (one, two) = connected(Plan::default());
    let queue = unsafe { ibv_create_cq(one.context, 8, null_mut(), one.channel, 0) };
    one.arm(false);
    one.post(&[write(&one, &two, 1)]);
    one.take_event();
    let (is_acknowledged, address) = (AtomicBool::new(false), one.queue as usize);
    unsafe { assert_eq!(ibv_destroy_cq(queue), 0, "one without events waits for nobody") };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            is_acknowledged.store(true, Ordering::SeqCst);
            unsafe { ibv_ack_cq_events(address as *mut ibv_cq, 1) };
        });
        drop(one);
        assert!(is_acknowledged.load(Ordering::SeqCst));
    });
}

#[test]
fn events_that_nobody_took_go_with_their_queue() {
    let (one, two) = connected(Plan::default());
    let (context, domain, channel) = (one.context, one.domain, one.channel);
    let mut init = ibv_qp_init_attr { qp_type: IBV_QPT_RC, cap: one.plan.cap, ..Default::default() };
    let extra = unsafe {
        let queue = ibv_create_cq(context, 8, null_mut(), channel, 0);
        (init.send_cq, init.recv_cq) = (queue, queue);
        let pair = ibv_create_qp(domain, &mut init);
        (*context).ops.req_notify_cq.unwrap()(queue, 0);
        (queue, pair)
    };
    unsafe {
        let mut a = ibv_qp_attr { qp_state: IBV_QPS_ERR, ..Default::default() };
        assert_eq!(ibv_modify_qp(extra.1, &mut a, IBV_QP_STATE as i32), 0);
        let mut wr = ibv_recv_wr::default();
        assert_eq!((*context).ops.post_recv.unwrap()(extra.1, &mut wr, &mut null_mut()), 0);
        assert!(is_readable((*channel).fd, 20_000));
        assert_eq!((ibv_destroy_qp(extra.1), ibv_destroy_cq(extra.0)), (0, 0));
    }
    assert!(!has_event(&one));
    drop(two);
}

#[test]
fn a_queue_has_at_least_what_was_asked_for_and_no_more_than_there_can_be() {
    let context = open(0);
    unsafe {
        let queue = ibv_create_cq(context, 100, null_mut(), null_mut(), 0);
        assert!((*queue).cqe >= 100);
        assert_eq!(ibv_destroy_cq(queue), 0);
        for (entries, vector) in [(0, 0), (1 << 30, 0), (8, 1)] {
            assert!(ibv_create_cq(context, entries, null_mut(), null_mut(), vector).is_null());
            assert_eq!(errno(), EINVAL);
        }
        assert_eq!(ibv_close_device(context), 0);
    }
}
