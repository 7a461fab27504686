//! Variables of the environment that nobody reads, and whose names are nearly those of settings.

use crate::lane::error::print;
use std::sync::Once;

/// What programs, their launchers and the command `gossamer` read.
const SETTINGS: [&str; 30] = [
    "BACKLOG",
    "BLOCKED_MILLISECONDS",
    "BLOCKING_THREADS",
    "CODE",
    "FABRIC",
    "LISTEN_FD",
    "METRICS",
    "NODE",
    "NODES",
    "PIN",
    "PROTECTION",
    "RENDEZVOUS",
    "REPORT_FD",
    "SHARE_MEMORY",
    "SILENCE_SECONDS",
    "STACK_KIB",
    "STALL_SECONDS",
    "START_SECONDS",
    "STREAM_KEY",
    "THREADS",
    "TOKEN",
    "TRACE",
    "TRACE_EVERY",
    "VERBS",
    "VERBS_GID",
    "VERBS_RENDEZVOUS",
    "VERBS_RETRY",
    "VERBS_SL",
    "VERBS_TC",
    "VERBS_TIMEOUT",
];

/// Says once, on standard error, which variables of this process are probably misspelt settings. They are no mistake
/// for sure: a program may have variables of its own with this prefix, and Kubernetes makes some for a service of
/// this name.
pub(crate) fn warn() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let names = std::env::vars_os().filter_map(|(name, _value)| name.into_string().ok());
        names.filter_map(|name| warning(&name)).for_each(|line| print(&line));
    });
}

fn warning(name: &str) -> Option<String> {
    let meant = meant_by(name.strip_prefix("GOSSAMER_")?)?;
    Some(format!("gossamer: warning: {name} is not a setting of Gossamer; did you mean GOSSAMER_{meant}?\n"))
}

/// The setting that a name which is none resembles most, if there is one.
fn meant_by(name: &str) -> Option<&'static str> {
    if SETTINGS.contains(&name) {
        return None;
    }
    // Short words resemble each other by chance.
    let most = match name.len() {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    let distances = SETTINGS.iter().map(|setting| (strsim::osa_distance(name, setting), *setting));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, setting)| setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: [&str; 2] =
        [include_str!("../../../docs/book/src/guide/settings.md"), include_str!("../../../docs/rdma.md")];

    #[test]
    fn settings_of_the_pages_are_known() {
        let names = PAGES.iter().flat_map(|page| page.split("GOSSAMER_").skip(1)).map(|rest| {
            let end = rest.find(|byte: char| !(byte.is_ascii_uppercase() || byte == '_'));
            &rest[..end.unwrap_or(rest.len())]
        });
        let (mut found, mut unknown) = (0, Vec::new());
        for name in names {
            found += 1;
            unknown.extend(Some(name).filter(|name| !SETTINGS.contains(name)));
        }
        assert!(found > 20 && unknown.is_empty(), "{found} settings, unknown: {unknown:?}");
    }

    #[test]
    fn a_setting_is_meant_by_what_differs_in_a_letter_or_two() {
        for (name, meant) in [
            ("THREAD", Some("THREADS")),
            ("STACK_KBI", Some("STACK_KIB")),
            ("STALL_SECOND", Some("STALL_SECONDS")),
            ("FABRICS", Some("FABRIC")),
            ("THREADS", None),
            ("PIN", None),
            ("", None),
            // Of a program, and of Kubernetes for a service `gossamer`.
            ("TEST_DEVICE", None),
            ("PORT", None),
            ("SERVICE_HOST", None),
        ] {
            assert_eq!(meant_by(name), meant, "{name}");
        }
    }

    #[test]
    fn other_variables_are_not_looked_at() {
        assert_eq!(warning("THREAD"), None);
        let said = warning("GOSSAMER_THREAD").unwrap_or_default();
        assert!(said.contains("GOSSAMER_THREAD is not") && said.contains("GOSSAMER_THREADS?"), "{said}");
    }
}
