//! Events that are not about completions: who is informed, and who waits for whom.

use super::kit::*;
use crate::symbols::*;
use crate::types::*;
use libc::EAGAIN;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn an_event_names_its_queue_pair_and_destroying_that_waits_for_its_acknowledgement() {
    let (one, two) = connected(Plan::default());
    assert_eq!(verbs_sim_break(one.place().number, 0), 0);
    let mut event = ibv_async_event::default();
    unsafe {
        assert!(is_readable((*one.context).async_fd, 20_000));
        assert_eq!(ibv_get_async_event(one.context, &mut event), 0);
        assert_eq!(event.event_type, IBV_EVENT_QP_FATAL);
        assert_eq!(event.element.qp, one.pair);
    }
    let is_acknowledged = AtomicBool::new(false);
    let address = one.pair as usize;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            is_acknowledged.store(true, Ordering::SeqCst);
            let element = ibv_async_event__bindgen_ty_1 { qp: address as *mut ibv_qp };
            let mut event = ibv_async_event { element, event_type: IBV_EVENT_QP_FATAL };
            unsafe { ibv_ack_async_event(&mut event) };
        });
        drop(one);
        assert!(is_acknowledged.load(Ordering::SeqCst));
    });
    drop(two);
}

#[test]
fn an_event_that_nobody_took_goes_with_its_queue_pair() {
    let (one, two) = connected(Plan::default());
    assert_eq!(verbs_sim_break(one.place().number, 0), 0);
    let context = unsafe { ibv_open_device((*one.context).device) };
    drop((one, two));
    unsafe {
        assert_eq!(libc::fcntl((*context).async_fd, libc::F_SETFL, libc::O_NONBLOCK), 0);
        assert_eq!(ibv_get_async_event(context, &mut ibv_async_event::default()), -1);
        assert_eq!(errno(), EAGAIN);
        assert_eq!(ibv_close_device(context), 0);
    }
}

#[test]
fn events_of_a_port_are_told_to_all_contexts_of_its_device() {
    let test = "tests::events::events_of_a_port_are_told_to_all_contexts_of_its_device";
    with_devices(test, "a port=1 gid=3:v2:10.0.0.1; b port=1 gid=3:v2:10.0.0.1", || {
        let of = |device| End::new(Plan { device, ..Plan::default() });
        let (one, two, other) = (of(0), of(0), of(1));
        assert_eq!(verbs_sim_event(0, 1, IBV_EVENT_GID_CHANGE), 0);
        assert_eq!((one.event(), two.event()), (IBV_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE));
        assert!(!is_readable(unsafe { (*other.context).async_fd }, 0));
    });
}
