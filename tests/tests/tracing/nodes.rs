//! From one node to another: a request runs in a span of its own there, whose parent is the sender's.

use crate::collected::{Trace, collect, current};
use crate::workers::waiting;
use gossamer::{Latch, spawn_many_with, spawn_on};
use integration_tests::{far, on_nodes};
use tracing::info_span;

#[gossamer::delegate]
#[test]
fn what_is_sent_to_another_node_goes_on_in_the_trace_of_its_sender() {
    collect();
    on_nodes(2, 1, || {
        let (number, latch) = (far().entrust(1_u64), far().entrust(Latch::new(1_u64)));
        let text = "large arguments ".repeat(10_000);
        let trace = Trace::of(info_span!("request"), || {
            assert_eq!(number.apply(|_| within("applied")), "delegated");
            assert_eq!(number.apply_async(|_| within("asked for")).wait(), "delegated");
            number.apply_then(
                |_| within("posted"),
                |there| assert_eq!((there.as_str(), current()), ("delegated", "request")),
            );
            number.apply_unawaited(|_| drop(within("unawaited")));
            assert_eq!(number.apply(|_| text.len() + within("large").len()), 160_000 + 9);
            assert_eq!(latch.launch(|_| within("launched")), "delegated");
            assert_eq!(spawn_on(far(), || within("spawned")).join(), "delegated");
            let many = spawn_many_with(2, |number, ()| (number, waiting()), ()).join();
            assert_eq!(many, [(0, "request".to_owned()), (1, "delegated".to_owned())]);
        });
        assert_eq!(number.apply(|_| current().to_owned()), "");
        let continued = trace.continued();
        assert_eq!(continued.len(), 8, "{continued:#?}");
        for span in &continued {
            assert_eq!(span.parent_span_id, trace.root_id());
            assert!(span.name.contains("what_is_sent_to_another_node"), "the closure: {}", span.name);
        }
        for part in ["applied", "asked for", "posted", "unawaited", "large", "launched", "spawned"] {
            let (parent, is_remote) = trace.parent(part);
            assert!(
                !is_remote && continued.iter().any(|span| span.span_context.span_id() == parent),
                "{part}"
            );
        }
        assert_eq!(trace.spans.len(), 1 + 8 + 7);
    });
}

/// Makes a span in a closure; returns the name of the span that the closure is in.
fn within(part: &'static str) -> String {
    // The name of a span is fixed when it is compiled.
    let span = info_span!("part", otel.name = part);
    span.in_scope(|| ());
    current().to_owned()
}
