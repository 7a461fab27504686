//! How the daemon's log is written: for people, as JSON, or into the system's journal with a field for each value.

use crate::exit::{FAILED, Failure, USAGE};
use crate::terminal::printable::printable;
use std::io::stderr;
use tracing::field::Field;
use tracing::subscriber::set_global_default;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;

/// The prefix of the names of our fields in the journal, which has fields of its own.
const PREFIX: &str = "GOSSAMER";
/// The identifier of the daemon's messages, for `journalctl -t`.
const IDENTIFIER: &str = "gossamer";

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Into the journal, if standard error leads there, else as text
    Auto,
    /// A sentence a line, on standard error
    Text,
    /// A JSON object a line, on standard error
    Json,
    /// Into the journal of this machine, with fields GOSSAMER_...
    Journal,
}

/// Writes events from now on.
///
/// # Errors
/// If the journal was asked for, and cannot be written to.
pub fn start(format: LogFormat) -> Result<(), Failure> {
    let events = registry().with(LevelFilter::INFO);
    let started = match format {
        LogFormat::Json => set_global_default(
            events.with(
                layer()
                    .json()
                    .flatten_event(true)
                    .with_current_span(false)
                    .with_span_list(false)
                    .with_target(false)
                    .log_internal_errors(false)
                    .with_writer(stderr),
            ),
        ),
        _ => match journal(format)? {
            Some(journal) => set_global_default(events.with(journal)),
            None => set_global_default(
                events.with(
                    layer()
                        .fmt_fields(debug_fn(write_sentence))
                        .without_time()
                        .with_level(false)
                        .with_target(false)
                        .log_internal_errors(false)
                        .with_writer(stderr),
                ),
            ),
        },
    };
    started.map_err(|error| Failure::new(FAILED, error.to_string()))
}

/// The journal, if events go there.
fn journal(format: LogFormat) -> Result<Option<tracing_journald::Layer>, Failure> {
    let is_wanted = format == LogFormat::Journal || format == LogFormat::Auto && leads_to_journal();
    if !is_wanted {
        return Ok(None);
    }
    match tracing_journald::layer() {
        Ok(journal) => {
            let journal = journal.with_field_prefix(Some(PREFIX.into()));
            Ok(Some(journal.with_syslog_identifier(IDENTIFIER.into())))
        }
        Err(error) if format == LogFormat::Journal => Err(Failure::new(
            USAGE,
            format!("--log journal: the journal of this machine cannot be written: {error}"),
        )),
        // Standard error leads there, too.
        Err(_) => Ok(None),
    }
}

/// Whether systemd has connected standard error with the journal, by its word.
fn leads_to_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    rustix::fs::fstat(stderr()).is_ok_and(|file| named == format!("{}:{}", file.st_dev, file.st_ino))
}

/// Writes the sentence of an event, which is in its other fields, too: as one line, which cannot control a terminal.
fn write_sentence(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    match field.name() {
        "message" => writer.write_str(&printable(&format!("{value:?}")).replace('\n', "\\n")),
        _ => Ok(()),
    }
}
