//! Tests of the owners, over functions that only record that they were called.

use crate::fabric::verbs::abi::{fake, types::*};
use crate::fabric::verbs::async_event::{AsyncEvent, AsyncSubject};
use crate::fabric::verbs::choice::address::{AddressVector, Destination, Mtu};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::completion::{CompletionChannel, CompletionQueue, WorkCompletion};
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use crate::fabric::verbs::memory::{
    MemoryRegion, ProtectionDomain, RegionAccess, RegisteredMemory, RemoteAddress,
};
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use crate::fabric::verbs::survey::survey;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

const WISHED: QueuePairCapacity = QueuePairCapacity { sends: 1024, receives: 64, gather: 2, inline: 220 };

struct Bytes(Vec<u8>);

// SAFETY: bytes of a vector that never changes; no device writes them.
unsafe impl RegisteredMemory for Bytes {
    fn start(&self) -> NonNull<u8> {
        NonNull::from(&self.0[0])
    }

    fn bytes(&self) -> usize {
        self.0.len()
    }
}

fn context() -> Arc<DeviceContext> {
    DeviceList::of(&fake::VERBS).unwrap().open(0).unwrap()
}

fn queue_pair(domain: &Arc<ProtectionDomain>) -> QueuePair {
    let queue = CompletionQueue::new(domain.context(), 64, None).unwrap();
    QueuePair::new(domain, &queue, &queue, WISHED).unwrap()
}

/// One of each, with its name.
fn all() -> Vec<Box<dyn Any>> {
    let context = context();
    let domain = ProtectionDomain::new(&context).unwrap();
    let channel = CompletionChannel::new(&context).unwrap();
    let queue = CompletionQueue::new(&context, 64, Some(&channel)).unwrap();
    let pair = QueuePair::new(&domain, &queue, &queue, WISHED).unwrap();
    let memory = Arc::new(Bytes(vec![1; 64]));
    let region = MemoryRegion::new(&domain, memory, RegionAccess::Source).unwrap();
    vec![
        Box::new(context),
        Box::new(domain),
        Box::new(channel),
        Box::new(queue),
        Box::new(region),
        Box::new(pair),
    ]
}

#[test]
fn no_order_of_drops_frees_an_object_before_those_that_were_made_of_it() {
    let before = |calls: &[&str], first: &str, second: &str| {
        let at = |name| calls.iter().position(|call| *call == name).unwrap();
        assert!(at(first) < at(second), "{calls:?}");
    };
    // Every order of six: the number of the next one to drop, among those that are left.
    for order in 0..720 {
        fake::calls();
        let (mut owners, mut order) = (all(), order);
        for left in (1..=6).rev() {
            drop(owners.remove(order % left));
            order /= left;
        }
        let calls = fake::calls();
        assert_eq!(calls.len(), 6, "each once: {calls:?}");
        before(&calls, "queue pair", "completion queue");
        before(&calls, "queue pair", "domain");
        before(&calls, "completion queue", "channel");
        before(&calls, "region", "domain");
        assert_eq!(calls.last(), Some(&"close"), "{calls:?}");
    }
}

#[test]
fn a_region_keeps_its_memory_until_it_is_deregistered_and_for_ever_if_that_fails() {
    let domain = ProtectionDomain::new(&context()).unwrap();
    for (refused, holders) in [(None, 1), (Some("region"), 2)] {
        let memory = Arc::new(Bytes(vec![1; 64]));
        let region = MemoryRegion::new(&domain, memory.clone(), RegionAccess::RemoteWrite).unwrap();
        assert_eq!(Arc::strong_count(&memory), 2);
        fake::refuse(refused);
        drop(region);
        fake::refuse(None);
        assert_eq!(Arc::strong_count(&memory), holders);
    }
}

#[test]
fn a_region_is_registered_with_the_rights_that_are_needed_and_no_more() {
    let domain = ProtectionDomain::new(&context()).unwrap();
    for (access, flags) in [
        (RegionAccess::Source, 0),
        (RegionAccess::ReadTarget, IBV_ACCESS_LOCAL_WRITE),
        (RegionAccess::RemoteWrite, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
        (RegionAccess::RemoteRead, IBV_ACCESS_REMOTE_READ),
    ] {
        let region = MemoryRegion::new(&domain, Arc::new(Bytes(vec![1; 8])), access).unwrap();
        assert_eq!(fake::last_access(), flags);
        drop(region);
    }
}

#[test]
fn a_region_tells_its_parts_and_keys() {
    let domain = ProtectionDomain::new(&context()).unwrap();
    let memory = Arc::new(Bytes(vec![1; 64]));
    let start = memory.0.as_ptr() as u64;
    let region = MemoryRegion::new(&domain, memory, RegionAccess::RemoteRead).unwrap();
    let entry = region.entry(16..48).raw();
    assert_eq!((entry.addr, entry.length, entry.lkey), (start + 16, 32, 7));
    assert_eq!(region.remote(8), RemoteAddress { address: start + 8, key: 8 });
    let outside =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| region.entry(60..65).raw().length));
    assert!(outside.is_err());
}

#[test]
fn events_are_acknowledged_when_they_are_taken() {
    let context = context();
    let channel = CompletionChannel::new(&context).unwrap();
    let queue = CompletionQueue::new(&context, 64, Some(&channel)).unwrap();
    fake::calls();
    queue.arm().unwrap();
    fake::bring_events(1);
    assert!(channel.take_event().unwrap());
    assert!(!channel.take_event().unwrap(), "no more have come");
    assert_eq!(fake::calls(), ["arm", "ack"]);
    fake::bring_events(1);
    let event = context.take_async_event().unwrap().unwrap();
    assert_eq!(event, AsyncEvent { code: IBV_EVENT_PORT_ERR, about: AsyncSubject::Port(1) });
    assert_eq!(event.to_string(), "port down (port 1)");
    assert_eq!(context.take_async_event().unwrap(), None);
    assert_eq!(fake::calls(), ["ack async"]);
}

#[test]
fn completions_are_polled_in_batches_and_say_why_they_failed() {
    let queue = CompletionQueue::new(&context(), 64, None).unwrap();
    let mut completions = [WorkCompletion::default(); 4];
    assert_eq!(queue.poll(&mut completions[..1]).unwrap(), 1);
    assert_eq!(queue.poll(&mut completions).unwrap(), 2);
    assert_eq!((completions[0].id(), completions[0].immediate()), (5, Some(0x0102_0304)));
    assert_eq!(completions[0].failure(), None);
    let failure = completions[1].failure().unwrap();
    assert_eq!((completions[1].queue_pair(), failure.is_flush()), (17, false));
    assert_eq!(
        failure.to_string(),
        "retries exceeded: no answer from the remote side (status 12, vendor error 0x81)"
    );
}

#[test]
fn a_queue_pair_holds_no_more_than_its_device_can_and_as_much_inline_as_it_grants() {
    let domain = ProtectionDomain::new(&context()).unwrap();
    let pair = queue_pair(&domain);
    let granted = QueuePairCapacity { sends: 256, ..WISHED };
    assert_eq!((pair.granted(), pair.number()), (granted, 17));
    fake::limit_inline(60);
    assert_eq!(queue_pair(&domain).granted(), QueuePairCapacity { inline: 55, ..granted });
    fake::limit_inline(u32::MAX);
}

#[test]
fn what_is_of_two_contexts_is_not_made() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let (one, other) = (context(), context());
    let domain = ProtectionDomain::new(&one).unwrap();
    let own = CompletionQueue::new(&one, 8, None).unwrap();
    let foreign = CompletionQueue::new(&other, 8, None).unwrap();
    for queues in [(&own, &foreign), (&foreign, &own)] {
        let made = catch_unwind(AssertUnwindSafe(|| QueuePair::new(&domain, queues.0, queues.1, WISHED)));
        assert!(made.is_err());
    }
    let channel = CompletionChannel::new(&other).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| CompletionQueue::new(&one, 8, Some(&channel)))).is_err());
}

#[test]
fn a_queue_pair_goes_through_its_states_and_takes_receives() {
    let pair = queue_pair(&ProtectionDomain::new(&context()).unwrap());
    fake::calls();
    pair.initialize(1).unwrap();
    let address = AddressVector { port: 1, destination: Destination::Lid(3), service_level: 0 };
    let mtu = Mtu::of_code(IBV_MTU_1024);
    pair.receive_from(&RemoteQueuePair { number: 9, first_packet: 1, address, mtu, reads: 4 }).unwrap();
    pair.send_from(2, 4, Persistence { timeout: 14, retries: 7 }).unwrap();
    pair.fail().unwrap();
    assert_eq!(fake::calls(), ["init", "ready to receive", "ready to send", "error"]);
    pair.post_receives(37, 3).unwrap();
    assert_eq!(fake::calls(), ["receive"; 37]);
}

#[test]
fn a_chain_is_posted_by_one_call_and_is_empty_then() {
    let pair = queue_pair(&ProtectionDomain::new(&context()).unwrap());
    let mut chain = SendChain::new(4, 1, 16);
    fake::calls();
    pair.post(&mut chain).unwrap();
    assert_eq!(fake::calls(), [""; 0], "nothing to post");
    let signal = Signal { id: 1, always: true };
    chain.write(Payload::Inline(&[1; 8]), RemoteAddress { address: 1, key: 2 }, None, signal);
    chain.write(Payload::Inline(&[2; 8]), RemoteAddress { address: 1, key: 2 }, None, signal);
    assert_eq!((chain.len(), chain.room()), (2, 2));
    pair.post(&mut chain).unwrap();
    assert_eq!((fake::calls(), chain.len()), (vec!["post send"], 0));
    chain.write(Payload::Inline(&[2; 8]), RemoteAddress { address: 1, key: 2 }, None, signal);
    fake::refuse(Some("post send"));
    let error = pair.post(&mut chain).unwrap_err();
    fake::refuse(None);
    assert!(error.to_string().starts_with("RDMA device fake0: ibv_post_send: "), "{error}");
}

#[test]
fn a_node_offers_the_ports_of_its_devices_that_can_be_used() {
    let survey = survey(&DeviceList::of(&fake::VERBS).unwrap(), &VerbsSettings::default()).unwrap();
    let names: Vec<_> = survey.offers.iter().map(|offer| offer.name()).collect();
    assert_eq!((names, survey.devices.len()), (vec!["fake0:1".to_owned()], 1));
    assert_eq!(survey.offers[0].mtu.bytes(), 4096);
}

#[test]
fn the_devices_of_this_machine_are_listed_or_it_is_told_in_one_line_why_not() {
    match DeviceList::get() {
        Ok(list) => assert!(!list.names().is_empty()),
        Err(why) => {
            let why = why.to_string();
            println!("{why}");
            assert!(why.starts_with("no ") || why.starts_with("lib") || why.starts_with("ibv_"), "{why}");
            assert!(!why.contains('\n'), "{why}");
        }
    }
}
