//! SAVE, BGSAVE, LASTSAVE.

use crate::connection::Connection;
use crate::protocol::refusal::{Refusal, SAVING, SYNTAX};
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
        // Snapshots do not wait for anything, so nothing has to be scheduled.
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
