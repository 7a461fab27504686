//! The loop of a worker, from its first turn to the end of its runtime.

use crate::counters::trace::{self, EventKind};
use crate::fabric::link::Link;
use crate::lane::catch;
use crate::lane::context::{self, Context};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::signals::fault_handler;
use crate::worker::end::fate;
use crate::worker::fibers::idleness::Idleness;
use crate::worker::fibers::sleep::PollClock;
use crate::worker::fibers::turn_lengths::TurnLengths;
use crate::worker::mailbox::inbox::Message;
use crate::worker::nodes::connections::Connections;
use crate::worker::shared::{Phase, Shared};
use crate::worker::{Worker, current};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Runs a worker on the calling thread until its runtime ends.
pub(crate) fn start(shared: Arc<Shared>, index: usize, poll: mio::Poll) {
    let _stack = fault_handler::prepare_thread();
    let connections = Connections::of(&shared, index, &poll)
        .unwrap_or_else(|error| fate::end(&format!("worker {index} cannot use its connections: {error}")));
    let view = Arc::clone(&shared.mailbox(index).view);
    let worker = Worker::new(shared, index, poll, connections);
    let _restore = context::enter(Context::Loop);
    // A span that the thread is in is none of its fibers'.
    #[cfg(feature = "tracing")]
    let _left = crate::spans::leave();
    let run = || {
        worker.run();
        if worker.fibers.scheduler.has_fibers() {
            worker.stay();
        }
        worker.close();
    };
    view.show_while(|| current::set(&worker, run));
}

impl Worker {
    fn run(&self) {
        let idleness = Idleness::new(Arc::clone(&self.counters), self.shared.is_crowded);
        let (mut clock, mut turn, mut lengths) = (PollClock::default(), 0_u64, TurnLengths::new());
        let traced = self.counters.sampling();
        loop {
            turn += 1;
            self.shared.mailbox(self.index).view.note_turn(turn);
            lengths.note_turn(turn, &self.counters.time);
            self.fibers.scheduler.begin_turn(turn);
            let traced_since = traced.picks(turn as u32).then(|| self.begin_traced_turn());
            let mut busy = if self.rests() { self.listen() } else { self.turn() };
            if let Some(since) = traced_since {
                self.end_traced_turn(since, busy);
            }
            let has_sockets = self.shared.mailbox(self.index).sources.any();
            if has_sockets && clock.is_due(busy) {
                idleness.note_poll(self.poll_sources(Some(Duration::ZERO)));
                clock.restart();
            }
            match self.shared.phase() {
                Phase::Running if self.shared.is_settling() => busy |= self.settle(),
                Phase::Running => {}
                Phase::Ended => return,
                phase => busy |= self.wind_down(phase),
            }
            if busy {
                if let Some(until) = idleness.reset() {
                    lengths.resume(turn, until);
                }
                // The clients of a server may have been on the idle processors.
                if !has_sockets {
                    self.fibers.woken.move_those_who_wait();
                }
                continue;
            }
            if idleness.is_time_to_sleep(self.nodes.connections.sockets(), has_sockets) {
                idleness.note_poll(self.sleep());
                let now = Instant::now();
                self.counters.time.wake_up(now);
                idleness.note_sleep(now);
                clock.restart();
            }
            if let Some(since) = idleness.idle_since() {
                lengths.pause(since, &self.counters.time);
            }
        }
    }

    /// Records events until the end of this turn.
    #[cold]
    fn begin_traced_turn(&self) -> u64 {
        self.fibers.scheduler.is_traced.set(true);
        trace::now()
    }

    #[cold]
    fn end_traced_turn(&self, since: u64, busy: bool) {
        self.fibers.scheduler.is_traced.set(false);
        if let Some(ring) = self.counters.trace.as_ref().filter(|_| busy) {
            ring.push(trace::TraceEvent::since(EventKind::Turn, since));
        }
    }

    /// One round of everything a worker does. Returns whether there was anything to do.
    fn turn(&self) -> bool {
        let heard = self.hear_nodes();
        let mut busy = heard;
        busy |= self.serve();
        busy |= self.take_responses();
        busy |= self.exchange_answers();
        busy |= self.read_inbox();
        busy |= self.fire_timers();
        let results_first = self.send_results_first();
        self.wake_senders();
        busy |= self.fibers.scheduler.run();
        busy |= self.start_grace_round();
        busy |= self.send_results(results_first);
        self.publish();
        self.flush_connections(heard);
        busy
    }

    /// Like `turn`, for a worker that has nothing to do and shows it.
    fn listen(&self) -> bool {
        let heard = self.hear_nodes();
        self.flush_connections(heard);
        heard
    }

    #[inline(always)]
    fn fire_timers(&self) -> bool {
        let fired = !self.fibers.timers.is_empty() && self.fibers.timers.fire(Instant::now());
        if fired {
            self.note_event();
        }
        fired
    }

    /// Makes the worker do its other work, except fibers, until `done`: for a fiber that unwinds. Not on that fiber's
    /// stack, which is not large enough for the closures of others.
    #[cold]
    #[inline(never)]
    pub(crate) fn unwind_later_until(&self, done: impl Fn() -> bool) {
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        while !done() {
            Fiber::suspend_unwinding();
        }
    }

    /// A round of everything except fibers, while one is unwinding.
    pub(crate) fn work_without_fibers(&self) {
        let _restore = context::enter(Context::Loop);
        if self.shared.phase() == Phase::Ended {
            self.stay();
        }
        self.send_results(false);
        self.publish();
        self.flush_connections(false);
        self.hear_nodes();
        self.serve();
        self.take_responses();
        self.exchange_answers();
        self.read_inbox();
        self.fibers.timers.fire(Instant::now());
        self.poll_sources(Some(Duration::ZERO));
        thread::yield_now();
    }

    fn read_inbox(&self) -> bool {
        let mailbox = &self.shared.mailbox(self.index);
        if !self.held.is_empty() && !self.handle_held() {
            // The inbox fills meanwhile, and its senders wait.
            return false;
        }
        if mailbox.inbox.is_empty() {
            return false;
        }
        // Before the inbox looks empty to `Shared::look`.
        self.note_event();
        for message in mailbox.inbox.drain() {
            self.handle(message);
        }
        true
    }

    /// Handles messages that had to wait, in order, while there is room for them. Returns whether none is left.
    #[cold]
    fn handle_held(&self) -> bool {
        while let Some(message) = self.held.pop_unless(|message| self.has_to_wait(message)) {
            self.handle_now(message);
        }
        self.held.is_empty()
    }

    /// Handles a message, unless one before it has to wait.
    fn handle(&self, message: Message) {
        if self.has_to_wait(&message) || !self.held.is_empty() {
            self.held.push(message);
        } else {
            self.handle_now(message);
        }
    }

    fn has_to_wait(&self, message: &Message) -> bool {
        match message {
            Message::ForNode { trustee, .. } => self.has_backlog(*trustee),
            _ => false,
        }
    }

    fn handle_now(&self, message: Message) {
        match message {
            Message::Connect { from, requests, responses } => {
                self.accept(from, requests, Link::Process(responses));
            }
            Message::ConnectNode { from, requests } => self.accept_from_node(from, requests),
            Message::ForNode { act: request, .. } | Message::Request(request) => {
                // The request catches the panics of its closure; this one comes from a destructor, or from a waker.
                catch::contained(|| request(self));
            }
            Message::Act(act) => act(self),
            Message::Wake { fiber } => self.fibers.scheduler.unpark_index(fiber),
            Message::Retire { property, travelled } => self.retire(property, travelled),
            Message::Fence { from } => self.answer_fence(from),
            Message::FenceAnswer => self.fence_answered(0),
            Message::FenceFromFar { trustee, answers } => self.add_fences(trustee, usize::from(answers)),
            Message::Release { properties } => self.end_grace_round(&properties),
        }
    }

    /// What is left to do after `main` has returned. Returns whether anything was done; false if it only waits for
    /// others, so that the worker can sleep.
    fn wind_down(&self, phase: Phase) -> bool {
        let mut busy = !self.fibers.are_cancelled();
        if busy {
            self.begin_activity();
            self.fibers.cancel();
        }
        if phase == Phase::Dropping && !(self.names.is_empty() && self.properties.indices().is_empty()) {
            self.begin_activity();
            self.names.clear();
            self.drop_all_properties();
            busy = true;
        }
        self.rest(phase);
        busy
    }

    /// Releases what the worker holds, while it is still this thread's worker: destructors may need it. Dropping work
    /// that this worker would still have done tells its waiters.
    fn close(&self) {
        for message in self.shared.mailbox(self.index).inbox.close() {
            catch::contained(|| drop(message));
        }
        while let Some(message) = self.held.pop() {
            catch::contained(|| drop(message));
        }
        self.names.clear();
        self.drop_all_properties();
        // Those whose handles still existed when the runtime ended.
        for copy in self.shared.replicas.take_all() {
            catch::contained(|| drop(copy));
        }
        self.fibers.scheduler.drop_jobs();
        self.close_lanes();
        self.nodes.answers.close();
    }

    /// Ends the worker except its thread, since fibers are left (X5): they stay where they are, and so does what
    /// others have borrowed from them, or they from this thread. Those that wait for their outcome are told.
    #[cold]
    pub(crate) fn stay(&self) -> ! {
        let _restore = context::enter(Context::Loop);
        for fiber in self.fibers.scheduler.in_a_job() {
            catch::contained(|| fiber.say_farewell());
        }
        self.close();
        loop {
            thread::park();
        }
    }
}
