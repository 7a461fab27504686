//! `gossamer logs`: what the nodes of an application printed recently.

use crate::exit::Failure;
use crate::query::ask::{ask_all, no_such, those_reached};
use crate::query::output::{print, print_json};
use crate::rack::protocol::{LoggedOutput, Reply, Request};
use crate::terminal::lines::{Lines, PrefixStyle};
use crate::terminal::stream::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// `gossamer logs`
///
/// # Errors
/// If there is no such application, or no machine can be reached.
pub async fn logs(config: &Path, application: &str, as_json: bool) -> Result<u8, Failure> {
    let request = Request::Logs { application: application.into() };
    let answers = those_reached(ask_all(config, request).await?)?;
    let mut found = false;
    let mut values = Vec::new();
    for (machine, reply) in answers {
        let Reply::Logs(Some(log)) = reply else { continue };
        found = true;
        for (node, stream, lines) in joined(log) {
            match as_json {
                true => values.push(json!({
                    "machine": machine.name, "node": node,
                    "stream": if stream == Stream::Out { "stdout" } else { "stderr" },
                    "text": String::from_utf8_lossy(&lines),
                })),
                false => print(&prefixed(node, &lines))?,
            }
        }
    }
    if !found {
        return Err(no_such(application));
    }
    if as_json {
        print_json(&Value::Array(values))?;
    }
    Ok(0)
}

fn prefixed(node: u32, text: &[u8]) -> Vec<u8> {
    let mut lines = Lines::new(usize::try_from(node).unwrap_or(0), PrefixStyle::Plain);
    let mut printable = lines.push(text);
    printable.extend(lines.finish());
    printable
}

/// Pieces of output as whole lines, in the order in which the lines ended.
fn joined(log: Vec<LoggedOutput>) -> Vec<(u32, Stream, Vec<u8>)> {
    let mut partial: BTreeMap<(u32, bool), Vec<u8>> = BTreeMap::new();
    let mut lines = Vec::new();
    for LoggedOutput { node, stream, bytes } in log {
        let open = partial.entry((node, stream == Stream::Out)).or_default();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            open.extend_from_slice(piece);
            if open.ends_with(b"\n") {
                lines.push((node, stream, std::mem::take(open)));
            }
        }
    }
    let rest = partial.into_iter().filter(|(_, bytes)| !bytes.is_empty());
    let stream = |is_out| if is_out { Stream::Out } else { Stream::Err };
    lines.extend(rest.map(|((node, is_out), bytes)| (node, stream(is_out), bytes)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_output_is_joined_to_lines() {
        let piece = |node, text: &str| LoggedOutput { node, stream: Stream::Out, bytes: text.into() };
        let log = vec![piece(0, "a"), piece(1, "x\ny"), piece(0, "b\n")];
        let lines: Vec<_> = joined(log).into_iter().map(|(node, _, text)| (node, text)).collect();
        assert_eq!(lines, [(1, b"x\n".to_vec()), (0, b"ab\n".to_vec()), (1, b"y".to_vec())]);
    }
}
