//! Where parked fibers are, frame by frame: each fiber is resumed until it parks again, which every caller of a park
//! must allow for at any time.

use crate::sys::fibers::notice::BacktraceRequest;
use crate::sys::fibers::wait::FiberName;
use crate::worker::Worker;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How long fibers may take to report.
const ANSWERS: Duration = Duration::from_secs(1);

/// The addresses of the frames of these fibers, the innermost first. It leaves out fibers that have gone on, that have
/// no room on their stack to look at it, or whose worker does not answer within a second. For threads that are not
/// workers.
pub(crate) fn backtraces(runtime: &Shared, fibers: &[FiberName]) -> HashMap<FiberName, Vec<usize>> {
    let (to, told) = mpsc::channel();
    let asker = Arc::new(());
    let mut by_worker = BTreeMap::<u32, Vec<FiberName>>::new();
    fibers.iter().for_each(|fiber| by_worker.entry(fiber.worker).or_default().push(*fiber));
    for (worker, fibers) in by_worker {
        let request = BacktraceRequest { to: to.clone(), asker: Arc::downgrade(&asker) };
        let ask = move |here: &Worker| here.request_backtraces(&fibers, &request);
        // Refused only once the runtime has ended.
        let _ended = runtime.mailboxes[worker as usize - runtime.first].send(Message::Act(Box::new(ask)));
    }
    // When the last request is answered or dropped, no fiber can report any more.
    drop(to);
    let due = Instant::now() + ANSWERS;
    let mut frames = HashMap::new();
    while let Ok((fiber, addresses)) = told.recv_timeout(due.saturating_duration_since(Instant::now())) {
        frames.insert(fiber, addresses);
    }
    frames
}

impl Worker {
    fn request_backtraces(&self, wanted: &[FiberName], request: &BacktraceRequest) {
        for fiber in self.fibers.scheduler.in_a_job() {
            if fiber.is_parked() && wanted.contains(&fiber.name()) {
                fiber.request_backtrace(request.clone());
                self.fibers.scheduler.unpark(fiber);
            }
        }
    }
}
