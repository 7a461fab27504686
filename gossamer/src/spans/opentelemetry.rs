//! The places of spans in OpenTelemetry traces, provided by the crate `tracing-opentelemetry`.

use gossamer::spans::{Propagator, TraceContext};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use std::str::FromStr;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The [`Propagator`] of OpenTelemetry.
pub struct OpenTelemetry;

impl Propagator for OpenTelemetry {
    fn context_of(&self, span: &Span) -> Option<TraceContext> {
        let context = span.context();
        let span = context.span().span_context().clone();
        let context = TraceContext::new(
            span.trace_id().to_bytes(),
            span.span_id().to_bytes(),
            span.trace_flags().to_u8(),
        )?;
        Some(context.with_state(&span.trace_state().header()))
    }

    fn set_parent(&self, span: &Span, parent: &TraceContext) {
        let parent = SpanContext::new(
            TraceId::from_bytes(parent.trace_id()),
            SpanId::from_bytes(parent.span_id()),
            TraceFlags::new(parent.flags()),
            true,
            TraceState::from_str(parent.state()).unwrap_or_default(),
        );
        // It fails for a span that has already begun, or is not exported.
        let _unexported = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}
