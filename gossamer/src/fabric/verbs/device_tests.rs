//! Tests of the owners over a device, simulated or real: two queue pairs of one process, connected to each other.

use crate::atomic::{AtomicU64, Ordering};
use crate::fabric::verbs::abi::{Verbs, types::*};
use crate::fabric::verbs::async_event::AsyncSubject;
use crate::fabric::verbs::choice::pairs::{PortPair, pairs};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::completion::{CompletionChannel, CompletionQueue, WorkCompletion};
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use crate::fabric::verbs::memory::{
    MemoryRegion, ProtectionDomain, RegionAccess, RegisteredMemory, RemoteAddress,
};
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use crate::fabric::verbs::survey::survey;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;

const WORDS: usize = 32;

/// Words that the device may write.
struct Words([AtomicU64; WORDS]);

// SAFETY: atomics, in the place where the `Arc` has put them.
unsafe impl RegisteredMemory for Words {
    fn start(&self) -> NonNull<u8> {
        NonNull::from(&self.0).cast()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.0)
    }
}

impl Words {
    fn counting_from(first: u64) -> Arc<Self> {
        Arc::new(Self(std::array::from_fn(|index| AtomicU64::new(first + index as u64))))
    }

    fn values(&self) -> Vec<u64> {
        // Relaxed: a completion has reported what landed.
        self.0.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }
}

/// One side of a connection.
struct End {
    queue_pair: QueuePair,
    completions: Arc<CompletionQueue>,
    channel: Arc<CompletionChannel>,
    domain: Arc<ProtectionDomain>,
    chain: SendChain,
}

impl End {
    fn new(context: &Arc<DeviceContext>) -> Self {
        let domain = ProtectionDomain::new(context).unwrap();
        let channel = CompletionChannel::new(context).unwrap();
        let completions = CompletionQueue::new(context, 64, Some(&channel)).unwrap();
        let wished = QueuePairCapacity { sends: 16, receives: 16, gather: 2, inline: 64 };
        let queue_pair = QueuePair::new(&domain, &completions, &completions, wished).unwrap();
        let granted = queue_pair.granted();
        assert!(granted.sends >= 16 && granted.receives >= 16 && granted.gather >= 2, "{granted:?}");
        Self { queue_pair, completions, channel, domain, chain: SendChain::new(8, 2, 64) }
    }

    fn region(&self, memory: &Arc<Words>, access: RegionAccess) -> Arc<MemoryRegion> {
        MemoryRegion::new(&self.domain, memory.clone(), access).unwrap()
    }

    fn post(&mut self) {
        self.queue_pair.post(&mut self.chain).unwrap();
    }

    /// The next completion, awaited as a sleeper awaits it.
    fn completion(&self) -> WorkCompletion {
        let mut found = [WorkCompletion::default()];
        loop {
            self.completions.arm().unwrap();
            if self.completions.poll(&mut found).unwrap() == 1 {
                return found[0];
            }
            await_event(self.channel.descriptor());
            assert!(self.channel.take_event().unwrap());
        }
    }
}

/// Sleeps until there is an event. A test whose event never arrives fails.
pub(super) fn await_event(descriptor: BorrowedFd<'_>) {
    assert!(is_readable(descriptor, 60), "no event comes");
}

#[cfg(not(loom))]
pub(super) fn has_event(descriptor: BorrowedFd<'_>) -> bool {
    is_readable(descriptor, 0)
}

/// Whether it becomes readable within this many seconds.
fn is_readable(descriptor: BorrowedFd<'_>, seconds: i64) -> bool {
    let limit = Timespec { tv_sec: seconds, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&limit)).unwrap() == 1
}

const SIGNALED: Signal = Signal { id: 7, always: true };
const QUIET: Signal = Signal { id: 6, always: false };

/// A device, and a port of it that reaches itself.
fn device() -> (Arc<DeviceContext>, PortPair) {
    let found = survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &VerbsSettings::default()).unwrap();
    let pair = pairs(&found.offers, &found.offers).unwrap().remove(0);
    (found.devices[0].clone(), pair)
}

fn connected(context: &Arc<DeviceContext>, pair: &PortPair) -> [End; 2] {
    let ends = [End::new(context), End::new(context)];
    let (settings, first_packets) = (VerbsSettings::default(), [0xab_cdef, 0x12_3456]);
    for (at, end) in ends.iter().enumerate() {
        end.queue_pair.initialize(pair.ends[at].port).unwrap();
        let remote = RemoteQueuePair {
            number: ends[1 - at].queue_pair.number(),
            first_packet: first_packets[1 - at],
            address: pair.way(at, &settings),
            mtu: pair.mtu,
            reads: 1,
        };
        end.queue_pair.receive_from(&remote).unwrap();
        let persistence = Persistence { timeout: settings.timeout, retries: settings.retries };
        end.queue_pair.send_from(first_packets[at], 1, persistence).unwrap();
    }
    ends
}

#[test]
fn a_chain_of_writes_lands_and_wakes_who_sleeps_on_the_channel() {
    let (context, pair) = device();
    let [mut near, far] = connected(&context, &pair);
    let (from, to) = (Words::counting_from(100), Words::counting_from(0));
    let source = near.region(&from, RegionAccess::Source);
    let target = far.region(&to, RegionAccess::RemoteWrite);
    far.queue_pair.post_receives(3, 9).unwrap();
    let body = [source.entry(0..64), source.entry(128..192)];
    near.chain.write(Payload::Registered(&body), target.remote(8), None, QUIET);
    near.chain.write(Payload::Inline(&7_u64.to_ne_bytes()), target.remote(0), Some(42), SIGNALED);
    near.post();
    let arrived = far.completion();
    assert_eq!((arrived.failure(), arrived.id(), arrived.immediate()), (None, 9, Some(42)));
    let expected: Vec<u64> = [7].into_iter().chain(100..108).chain(116..124).chain(17..32).collect();
    assert_eq!(to.values(), expected);
    let done = near.completion();
    assert_eq!((done.failure(), done.id(), done.immediate()), (None, 7, None));
}

#[test]
fn a_read_lands_in_a_region_for_it() {
    let (context, pair) = device();
    let [mut near, far] = connected(&context, &pair);
    let (into, from) = (Words::counting_from(0), Words::counting_from(100));
    let target = near.region(&into, RegionAccess::ReadTarget);
    let source = far.region(&from, RegionAccess::RemoteRead);
    near.chain.read(&[target.entry(0..128)], source.remote(64), SIGNALED);
    near.post();
    assert_eq!(near.completion().failure(), None);
    assert_eq!(into.values(), (108..124).chain(16..32).collect::<Vec<u64>>());
}

#[test]
fn a_write_to_what_is_not_for_it_fails_in_words_and_the_rest_is_flushed() {
    let (context, pair) = device();
    let [mut near, far] = connected(&context, &pair);
    let memory = Words::counting_from(0);
    let (wrong_right, dropped) =
        (far.region(&memory, RegionAccess::RemoteRead), near.region(&memory, RegionAccess::RemoteWrite));
    let of_another_domain: RemoteAddress = dropped.remote(0);
    for to in [wrong_right.remote(0), of_another_domain] {
        let [mut near, far] = connected(&context, &pair);
        near.chain.write(Payload::Inline(&[1; 8]), to, None, SIGNALED);
        near.chain.write(Payload::Inline(&[2; 8]), to, None, SIGNALED);
        near.post();
        let failure = near.completion().failure().unwrap();
        assert_eq!(failure.status, IBV_WC_REM_ACCESS_ERR);
        assert!(failure.to_string().starts_with("remote access error (status 10"), "{failure}");
        assert!(near.completion().failure().unwrap().is_flush());
        drop(far);
    }
    assert_eq!(memory.values(), (0..32).collect::<Vec<u64>>());
    // What is dropped before it was sent fails, and corrupts no memory.
    let target = far.region(&memory, RegionAccess::RemoteWrite);
    let source = near.region(&Words::counting_from(0), RegionAccess::Source);
    let entry = source.entry(0..8);
    drop(source);
    near.chain.write(Payload::Registered(&[entry]), target.remote(0), None, SIGNALED);
    near.post();
    let status = near.completion().failure().unwrap().status;
    // The kernel's software device reports an error of the queue pair.
    let is_of_software = !Verbs::tests_are_simulated() && status == IBV_WC_LOC_QP_OP_ERR;
    assert!(is_of_software || status == IBV_WC_LOC_PROT_ERR, "{status}");
}

#[test]
fn a_queue_pair_that_ends_flushes_its_receives_and_tells_of_foreign_faults() {
    let (context, pair) = device();
    let [mut near, far] = connected(&context, &pair);
    far.queue_pair.post_receives(1, 3).unwrap();
    near.chain.write(Payload::Inline(&[1; 8]), RemoteAddress { address: 0, key: 0 }, None, SIGNALED);
    near.post();
    assert_eq!(near.completion().failure().unwrap().status, IBV_WC_REM_ACCESS_ERR);
    assert!(far.completion().failure().unwrap().is_flush());
    near.queue_pair.fail().unwrap();
    if !Verbs::tests_are_simulated() {
        println!("without the event, of which the kernel's device in software does not tell");
        return;
    }
    let about = AsyncSubject::QueuePair(far.queue_pair.number());
    loop {
        await_event(context.async_descriptor());
        let event = context.take_async_event().unwrap();
        if event.is_some_and(|event| (event.code, event.about) == (IBV_EVENT_QP_ACCESS_ERR, about)) {
            break;
        }
    }
}

#[test]
fn a_remote_side_that_is_gone_is_noticed_by_who_writes() {
    let (context, pair) = device();
    let [mut near, far] = connected(&context, &pair);
    let target = far.region(&Words::counting_from(0), RegionAccess::RemoteWrite).remote(0);
    drop(far);
    near.chain.write(Payload::Inline(&[1; 8]), target, None, SIGNALED);
    near.post();
    assert_eq!(near.completion().failure().unwrap().status, IBV_WC_RETRY_EXC_ERR);
}

#[test]
fn what_the_device_refuses_is_told_with_the_call_and_the_device() {
    let (context, pair) = device();
    let end = End::new(&context);
    let error = end.queue_pair.initialize(200).unwrap_err().to_string();
    let name = context.name();
    assert!(error.starts_with(&format!("RDMA device {name}: ibv_modify_qp to state INIT: ")), "{error}");
    assert!(error.contains("(port 200)"), "{error}");
    let [mut near, _far] = connected(&context, &pair);
    let too_long = SendChain::new(1, 1, 1 << 16);
    near.chain = too_long;
    near.chain.write(
        Payload::Inline(&vec![0; 1 << 16]),
        RemoteAddress { address: 0, key: 0 },
        None,
        SIGNALED,
    );
    let error = near.queue_pair.post(&mut near.chain).unwrap_err().to_string();
    assert!(error.starts_with(&format!("RDMA device {name}: ibv_post_send: ")), "{error}");
}
