//! The subscriber of this process, and what it has exported.

use crate::adapter::OpenTelemetry;
use gossamer::{spans, yield_now};
use opentelemetry::trace::{SpanId, TraceContextExt, TracerProvider};
use opentelemetry_sdk::trace::{
    InMemorySpanExporter, InMemorySpanExporterBuilder, SdkTracerProvider, SpanData,
};
use std::sync::LazyLock;
use tracing::span::Id;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

static EXPORTED: LazyLock<InMemorySpanExporter> = LazyLock::new(|| {
    let exporter = InMemorySpanExporterBuilder::new().build();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
    let subscriber = Registry::default().with(layer).with(Unruly);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    spans::set_propagator(OpenTelemetry).unwrap();
    assert!(spans::set_propagator(OpenTelemetry).is_err());
    exporter
});

/// Does what a subscriber should not, when spans of these names are left.
struct Unruly;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Unruly {
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        match context.span(id).map_or("", |span| span.name()) {
            "panics when it is left" => panic!("as it was told"),
            "waits when it is left" => yield_now(),
            _ => {}
        }
    }
}

/// Makes sure that the subscriber is installed.
pub fn collect() {
    LazyLock::force(&EXPORTED);
}

/// The name of the span that the calling code is in, if any.
pub fn current() -> &'static str {
    Span::current().metadata().map_or("", |span| span.name())
}

/// The spans of one trace that have ended.
pub struct Trace {
    pub root: SpanData,
    pub spans: Vec<SpanData>,
}

impl Trace {
    /// Runs `body` in a span that begins a trace; returns the spans of that trace.
    pub fn of(root: Span, body: impl FnOnce()) -> Self {
        let id = root.context().span().span_context().span_id();
        root.in_scope(body);
        drop(root);
        let mut spans = EXPORTED.get_finished_spans().unwrap();
        let root = spans.iter().find(|span| span.span_context.span_id() == id);
        let root = root.expect("nobody has the span any more, so it was exported").clone();
        spans.retain(|span| span.span_context.trace_id() == root.span_context.trace_id());
        Self { root, spans }
    }

    pub fn root_id(&self) -> SpanId {
        self.root.span_context.span_id()
    }

    /// The parent of the one span of this name, and whether it is of another node.
    pub fn parent(&self, name: &str) -> (SpanId, bool) {
        let mut found = self.spans.iter().filter(|span| span.name == name);
        let span = found.next().unwrap_or_else(|| panic!("no span {name} in {:#?}", self.spans));
        assert!(found.next().is_none(), "several spans {name}");
        (span.parent_span_id, span.parent_span_is_remote)
    }

    /// The spans that the library has made: their parents are on other nodes.
    pub fn continued(&self) -> Vec<&SpanData> {
        self.spans.iter().filter(|span| span.parent_span_is_remote).collect()
    }
}
