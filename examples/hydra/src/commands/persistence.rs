//! SAVE, BGSAVE, LASTSAVE, SHUTDOWN.

use crate::connection::Connection;
use crate::ending::Ending;
use crate::protocol::refusal::{Refusal, SAVING, SYNTAX};
use crate::report::warn;
use crate::snapshot::{self, Saves};

pub fn save(connection: &mut Connection, _: &[&[u8]]) {
    if !connection.server.saves.apply_with(Saves::begin, ()) {
        return connection.refuse(&SAVING);
    }
    connection.finish_pending();
    match snapshot::start(&connection.server).join() {
        Ok(()) => connection.plan.reply().ok(),
        Err(error) => connection.refuse(&Refusal::from(format!("ERR {error}"))),
    }
}

pub fn save_in_background(connection: &mut Connection, arguments: &[&[u8]]) {
    match &arguments[1..] {
        [] => {}
        // Snapshots never wait, so nothing has to be scheduled.
        [how] if how.eq_ignore_ascii_case(b"SCHEDULE") => {}
        _ => return connection.refuse(&SYNTAX),
    }
    if !connection.server.saves.apply_with(Saves::begin, ()) {
        return connection.refuse(&SAVING);
    }
    connection.finish_pending();
    snapshot::start_in_background(&connection.server);
    connection.plan.reply().simple("Background saving started");
}

pub fn last_save(connection: &mut Connection, _: &[&[u8]]) {
    let last = connection.server.last_save();
    connection.plan.reply().integer(last as i64);
}

/// Ends all nodes, without a reply; with a snapshot if one is asked for.
pub fn shutdown(connection: &mut Connection, arguments: &[&[u8]]) {
    let options: Vec<_> = arguments[1..].iter().map(|option| option.to_ascii_lowercase()).collect();
    let has = |name: &[u8]| options.iter().any(|option| option == name);
    // There are no replicas to wait for, so it always acts as with NOW.
    let known: [&[u8]; 5] = [b"save", b"nosave", b"now", b"force", b"abort"];
    let is_known = options.iter().all(|option| known.contains(&option.as_slice()));
    if !is_known || has(b"save") && has(b"nosave") || has(b"abort") && options.len() > 1 {
        return connection.refuse(&SYNTAX);
    }
    if has(b"abort") {
        return connection.refuse(&"ERR No shutdown in progress.".to_owned().into());
    }
    connection.finish_pending();
    if has(b"save") && !saves_to_end(connection, has(b"force")) {
        return connection.refuse(&"ERR Errors trying to SHUTDOWN. Check logs.".to_owned().into());
    }
    connection.server.ending.apply_with(Ending::by_client, ());
    connection.is_ending = true;
}

/// Makes a snapshot, and returns whether the server ends. Then nobody is told any more that a key has changed: the
/// snapshot would not have it.
fn saves_to_end(connection: &Connection, is_forced: bool) -> bool {
    let (hold, outcome) = snapshot::make_last(&connection.server);
    let is_saved = outcome.inspect_err(|error| warn(format_args!("SHUTDOWN SAVE: {error}"))).is_ok();
    let ends = is_saved || is_forced;
    if ends {
        hold.keep();
    }
    ends
}
