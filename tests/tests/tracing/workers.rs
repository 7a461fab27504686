//! From one worker to another in the process: a request runs in the sender's own span.

use crate::collected::{Trace, collect, current};
use gossamer::{Latch, Replies, Trustee, entrust, scope, spawn_local, spawn_many_with, spawn_on};
use integration_tests::{in_runtime, near_and_far};
use std::cell::Cell;
use std::rc::Rc;
use tracing::info_span;

#[gossamer::delegate]
#[test]
fn whatever_is_sent_to_a_worker_runs_in_the_span_of_its_sender() {
    collect();
    near_and_far(|trustee| {
        let (number, latch) = (trustee.entrust(1_u64), trustee.entrust(Latch::new(1_u64)));
        assert_eq!(number.apply(|_| current().to_owned()), "");
        let request = info_span!("request");
        let entered = request.enter();
        assert_eq!(number.apply(|_| current().to_owned()), "request");
        assert_eq!(number.apply_async(|_| current().to_owned()).wait(), "request");
        let mut replies = Replies::new();
        number.apply_into(&replies, (), |_| current().to_owned());
        assert_eq!(replies.next().unwrap().1.unwrap(), "request");
        let called = Rc::new(Cell::new((String::new(), "")));
        let told = Rc::clone(&called);
        number.apply_then(|_| current().to_owned(), move |there| told.set((there, current())));
        number.apply(|_| ());
        assert_eq!(called.take(), ("request".into(), "request"));
        let names = trustee.entrust(Vec::new());
        names.apply_unawaited(|names| names.push(current().to_owned()));
        info_span!("inner").in_scope(|| names.apply_unawaited(|names| names.push(current().to_owned())));
        assert_eq!(names.apply(|names| names.clone()), ["request", "inner"]);
        assert_eq!(latch.launch(|_| waiting()), "request");
        assert_eq!(latch.launch_read(|_| waiting()), "request");
        assert_eq!(spawn_on(trustee, waiting).join(), "request");
        assert_eq!(trustee.entrust_with(|()| current().to_owned(), ()).apply(|name| name.clone()), "request");
        assert_eq!(spawn_many_with(4, |_, ()| waiting(), ()).join(), ["request"; 4]);
        let there = number.clone();
        let from_a_thread =
            move || info_span!("in a thread").in_scope(|| there.apply(|_| current().to_owned()));
        assert_eq!(gossamer::unblock(from_a_thread), "in a thread");
        drop(entered);
        assert_eq!(number.apply(|_| current().to_owned()), "");
        assert_eq!(spawn_on(trustee, waiting).join(), "");
    });
}

#[test]
fn fibers_of_the_worker_itself_run_in_the_span_of_their_starter() {
    collect();
    in_runtime(1, || {
        let latch = entrust(Latch::new(()));
        let (sender, mut receiver) = gossamer::sync::mpsc::channel(1);
        let (local, scoped) = info_span!("starter").in_scope(|| {
            latch.launch_then(|()| (), move |()| sender.send(current()).unwrap());
            (spawn_local(waiting), scope(|scope| scope.spawn(waiting).join()))
        });
        assert_eq!((local.join(), scoped), ("starter".into(), "starter".into()));
        assert_eq!(receiver.recv(), Some("starter"));
    });
}

#[gossamer::delegate]
#[test]
fn a_span_of_a_closure_is_a_child_of_its_senders() {
    collect();
    in_runtime(2, || {
        let there = Trustee::all()[1].entrust(0_u64);
        let trace = Trace::of(info_span!("whole"), || {
            there.apply(|_| info_span!("part at the trustee").in_scope(|| ()));
        });
        assert_eq!(trace.parent("part at the trustee"), (trace.root_id(), false));
        assert_eq!(trace.spans.len(), 2, "no other spans within a process");
    });
}

#[gossamer::delegate]
#[test]
fn a_closure_that_panics_leaves_the_span() {
    collect();
    in_runtime(2, || {
        let there = Trustee::all()[1].entrust(0_u64);
        let error =
            info_span!("failing").in_scope(|| there.try_apply(|_| -> u64 { panic!("at the trustee") }));
        assert!(error.unwrap_err().to_string().contains("at the trustee"));
        assert_eq!(there.apply(|_| current().to_owned()), "");
    });
}

/// The span before a wait, which has to be the span after it.
pub fn waiting() -> String {
    let before = current();
    gossamer::yield_now();
    assert_eq!(current(), before);
    before.to_owned()
}
