//! The thread that plays the devices: it carries out work requests a little later than possible, and without hurry.

use crate::packet::{Body, Packet};
use crate::state::{State, lock};
use crate::transport::block_of;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// If the simulation fails, there is no device any more: the program must not wait for it.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

pub(crate) fn start() {
    let started = thread::Builder::new().name("verbs-sim".into()).spawn(|| {
        let _abort = AbortOnPanic;
        run();
    });
    if let Err(error) = started {
        panic!("the thread of the simulated devices: {error}");
    }
}

fn run() {
    block_signals();
    loop {
        let mut state = lock();
        let mut watch = state.network.watch(state.doorbell.as_raw_fd());
        if state.is_busy() {
            watch.wait(Some(Duration::ZERO));
        } else {
            let until = state.next_retry();
            state.is_asleep = true;
            drop(state);
            watch.wait(until.map(|until| until.saturating_duration_since(Instant::now())));
            state = lock();
            state.is_asleep = false;
        }
        state.silence_doorbell();
        let (packets, gone) = state.network.receive(&watch);
        for packet in packets {
            state.deliver(packet);
        }
        state.lose_all(|number| gone.contains(&block_of(number)));
        state.turn();
        let pause = state.random.u8(..128);
        let microseconds = state.random.u64(..50);
        drop(state);
        match pause {
            0 => thread::sleep(Duration::from_micros(microseconds)),
            // Not after each step: where other threads spin, this thread gets its turn late.
            1..32 => thread::yield_now(),
            _ => {}
        }
    }
}

/// Signals of the program are for the program's own threads.
fn block_signals() {
    // SAFETY: a set of signals is integers.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes a set of this function.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: reads it, and writes nothing.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()) };
}

impl State {
    fn is_busy(&self) -> bool {
        !self.active.is_empty() || !self.late.is_empty()
    }

    fn silence_doorbell(&self) {
        // If it has not rung, there is nothing to read.
        let _ = rustix::io::read(&self.doorbell, &mut [0; 8]);
    }

    /// Does some of the work that there is, for all queue pairs, in any order.
    fn turn(&mut self) {
        let mut pairs: Vec<u32> = self.active.iter().copied().collect();
        self.random.shuffle(&mut pairs);
        for pair in pairs {
            self.serve(pair);
        }
        if !self.waiting.is_empty() {
            let (now, waiting) = (Instant::now(), self.waiting.clone());
            for pair in waiting {
                self.retry(pair, now);
            }
        }
        for queue in self.late.clone() {
            self.release(queue);
        }
        let gone = self.network.flush();
        self.lose_all(|number| gone.contains(&block_of(number)));
    }

    /// Does some work for a queue pair.
    fn serve(&mut self, handle: u32) {
        while self.random.u8(..16) != 0 {
            let mut sides = [Self::request, Self::respond];
            self.random.shuffle(&mut sides);
            let is_busy = sides.iter().any(|side| side(self, handle));
            if !is_busy {
                self.active.remove(&handle);
                return;
            }
        }
    }

    /// Sends a packet. Returns whether it is under way.
    pub(crate) fn route(&mut self, mut packet: Packet) -> bool {
        let sender =
            self.numbers.get(&packet.from).and_then(|handle| Some((*handle, self.pairs.get(handle)?)));
        let is_down =
            sender.is_some_and(|(handle, pair)| !self.is_port_active(handle, pair.attributes.port_num));
        if is_down && packet.is_request() {
            return false;
        }
        if is_down {
            packet.body = Body::Lost;
        }
        if self.network.owns(packet.to) {
            self.deliver(packet);
            return true;
        }
        // The thread of the devices sends it on.
        self.wake();
        self.network.send(&packet)
    }

    pub(crate) fn is_port_active(&self, handle: u32, port: u8) -> bool {
        let Some(pair) = self.pairs.get(&handle) else { return false };
        let device = &self.devices[pair.device];
        let port = device.config.ports.get(usize::from(port).wrapping_sub(1));
        !device.is_fatal && port.is_some_and(|port| port.active)
    }

    /// Hands a packet to a queue pair of this process.
    fn deliver(&mut self, mut packet: Packet) {
        let handle = self.numbers.get(&packet.to).copied();
        let Some(pair) = handle.and_then(|handle| self.pairs.get(&handle)) else {
            if packet.is_request() {
                self.drop_request(&packet);
            }
            return;
        };
        let Some(handle) = handle else { return };
        let is_active = self.is_port_active(handle, pair.attributes.port_num);
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if packet.is_request() {
            pair.responder.push_arrival(packet);
        } else {
            if !is_active {
                packet.body = Body::Lost;
            }
            pair.requester.push_arrival(packet);
        }
        self.active.insert(handle);
        self.wake();
    }
}
