//! Devices, ports, GIDs and limits, as the configuration says.

use super::kit::*;
use crate::types::*;
use libc::{EACCES, EINVAL, ENETUNREACH, ENOMEM, ENOSYS};
use std::mem::ManuallyDrop;

#[test]
fn without_support_of_the_kernel_there_is_no_list() {
    with_devices("tests::devices::without_support_of_the_kernel_there_is_no_list", "none", || {
        let mut count = 7;
        assert!(Devices::new(Some(&mut count)).is_none());
        assert_eq!((errno(), count), (ENOSYS, 0));
    });
}

#[test]
fn without_a_device_the_list_is_empty() {
    with_devices("tests::devices::without_a_device_the_list_is_empty", "empty", || {
        let mut count = 7;
        assert!(made(Devices::new(Some(&mut count))).is_empty() && count == 0);
    });
}

#[test]
fn who_has_no_permission_sees_the_device_and_cannot_open_it() {
    let test = "tests::devices::who_has_no_permission_sees_the_device_and_cannot_open_it";
    with_devices(test, "denied", || {
        let mut count = 0;
        let devices = made(Devices::new(Some(&mut count)));
        assert_eq!((count, devices.name(0)), (1, c"sim0"));
        assert!(devices.open(0).is_none());
        assert_eq!(errno(), EACCES);
    });
}

const TWO: &str = "first max_qp=1 max_inline=32 max_sge=2 max_rd_atomic=2 port=1 state=down \
                   port=2 mtu=2048 unreachable=10.0.0.9 gid=1:v1:fe80::7 gid=5:v2:10.0.0.1; \
                   second in_order port=1 link=infiniband lid=12 gid=0:ib:fe80::9";

#[test]
fn devices_ports_and_gids_are_as_configured() {
    with_devices("tests::devices::devices_ports_and_gids_are_as_configured", TWO, || {
        let (first, second) = (open(0), open(1));
        let attributes = first.attributes();
        let found =
            (attributes.phys_port_cnt, attributes.max_qp, attributes.max_sge, attributes.max_qp_rd_atom);
        assert_eq!(found, (2, 1, 2, 2));
        let port = |context: &Context, number| context.port(number).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((port(&first, 1).state, port(&first, 2).state), (IBV_PORT_DOWN, IBV_PORT_ACTIVE));
        assert_eq!((port(&first, 2).active_mtu, port(&first, 2).gid_tbl_len), (IBV_MTU_2048, 6));
        let infiniband = port(&second, 1);
        assert_eq!((infiniband.link_layer, infiniband.lid), (IBV_LINK_LAYER_INFINIBAND, 12));
        assert_eq!(second.port(2).err(), Some(EINVAL));
        let entries: Vec<_> = first.gids().iter().map(|e| (e.port_num, e.gid_index, e.gid_type)).collect();
        assert_eq!(entries, [(2, 1, IBV_GID_TYPE_ROCE_V1), (2, 5, IBV_GID_TYPE_ROCE_V2)]);
        assert_eq!(first.gid(2, 0), [0; 16], "a hole in the table");
    });
}

#[test]
fn no_more_is_granted_than_the_device_has() {
    with_devices("tests::devices::no_more_is_granted_than_the_device_has", TWO, || {
        let plan = |inline, entries| {
            let cap = ibv_qp_cap { max_inline_data: inline, max_send_sge: entries, ..Plan::default().cap };
            Plan { port: 2, gid: 5, cap, reads: 2, ..Plan::default() }
        };
        let end = End::new(plan(20, 2));
        assert_eq!(end.pair.granted.max_inline_data, 32, "at least what was asked for");
        let refused = |inline, entries, error| {
            assert!(Pair::new(&end.domain, &end.queue, plan(inline, entries).cap).is_none());
            assert_eq!(errno(), error);
        };
        refused(33, 1, EINVAL);
        refused(0, 3, EINVAL);
        refused(0, 1, ENOMEM);
        end.init();
        let mut peer = end.place();
        peer.gid[12..].copy_from_slice(&[10, 0, 0, 9]);
        assert_eq!(end.ready_to_receive(peer), ENETUNREACH, "there is no route");
    });
}

#[test]
fn infiniband_finds_its_peer_by_lid() {
    let devices = "a port=1 link=infiniband lid=3; b port=1 link=infiniband lid=4";
    with_devices("tests::devices::infiniband_finds_its_peer_by_lid", devices, || {
        let of = |device| End::new(Plan { device, ..Plan::default() });
        let (one, two, lost) = (of(0), of(1), of(0));
        for (end, peer, lid) in [(&one, &two, 4), (&two, &one, 3), (&lost, &two, 5)] {
            end.init();
            let place = peer.place();
            let mut a = ibv_qp_attr { qp_state: IBV_QPS_RTR, path_mtu: IBV_MTU_1024, ..Default::default() };
            (a.dest_qp_num, a.rq_psn, a.ah_attr.dlid, a.ah_attr.port_num) = (place.number, place.psn, lid, 1);
            let path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
            assert_eq!(end.modify(&mut a, path | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
            end.ready_to_send();
        }
        one.set(0, [8]);
        for (end, status) in [(&one, IBV_WC_SUCCESS), (&lost, IBV_WC_RETRY_EXC_ERR)] {
            end.post(&[Work::write(1, SIGNALED, end.words(0, 1), two.place(), 0)]);
            assert_eq!(end.statuses(1), [(1, status)]);
        }
        assert_eq!(two.get(0), 8);
    });
}

#[test]
fn a_device_that_promises_order_lands_each_message_in_order() {
    let devices = "a in_order port=1 gid=3:v2:10.0.0.1";
    with_devices("tests::devices::a_device_that_promises_order_lands_each_message_in_order", devices, || {
        let (one, two) = connected(Plan::default());
        assert_eq!(two.pair.data_in_order(), 1);
        for round in 1..300 {
            one.set(0, [round; 64]);
            one.post(&[Work::write(round, SIGNALED, one.words(0, 64), two.place(), 0)]);
            wait_for(|| (two.get(63) == round).then_some(()));
            assert!((0..64).all(|word| two.get(word) == round));
            one.wait();
        }
    });
}

#[test]
fn nothing_promises_order_else() {
    let end = End::new(Plan::default());
    assert_eq!(end.pair.data_in_order(), 0);
}

#[test]
fn closing_a_context_takes_what_is_left_of_it() {
    if !is_child("alone") {
        let mut command = child("tests::devices::closing_a_context_takes_what_is_left_of_it", "alone");
        // What C has of it is leaked, as with the real library.
        assert!(command.env("ASAN_OPTIONS", "detect_leaks=0").status().unwrap().success());
        return;
    }
    let context = ManuallyDrop::new(open(0));
    let _domain = ManuallyDrop::new(made(Domain::new(&context)));
    let _queue = ManuallyDrop::new(made(Queue::new(&context, 8, None, 0)));
    assert_eq!(counter(c"objects"), 2);
    // SAFETY: none of them is used again, nor dropped.
    assert_eq!(unsafe { context.close() }, 0);
    assert_eq!(counter(c"objects"), 0);
}
