//! Spans of the crate `tracing` across workers and nodes, as an exporter of OpenTelemetry sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

// That of the documentation.
#[path = "../../../gossamer/src/spans/opentelemetry.rs"]
mod adapter;
mod collected;
mod fibers;
mod nodes;
mod workers;
