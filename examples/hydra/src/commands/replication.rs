//! What a server without replicas, and without redis's cluster, replies to clients that ask for them.

use crate::connection::Connection;
use crate::connection::turns::Wait;
use crate::protocol::number;
use crate::protocol::refusal::{NO_CLUSTER, NO_INTEGER, NO_WHOLE_TIMEOUT, Refusal, TIMEOUT_NEGATIVE};
use std::time::Duration;

pub fn role(connection: &mut Connection, _: &[&[u8]]) {
    let mut reply = connection.plan.reply();
    reply.array(3);
    reply.bulk(b"master");
    // So much has been sent to replicas, and these are the replicas.
    reply.integer(0);
    reply.array(0);
}

/// CLUSTER, READONLY and READWRITE: any node serves any key, so clients need not know which has it.
pub fn cluster(connection: &mut Connection, _: &[&[u8]]) {
    connection.refuse(&NO_CLUSTER);
}

/// WAIT: for so many replicas, of which there are none, until the time is over.
pub fn wait(connection: &mut Connection, arguments: &[&[u8]]) {
    match parse(arguments) {
        Ok((replicas, _)) if replicas <= 0 => connection.plan.reply().integer(0),
        Ok((_, limit)) => {
            let wait = Wait { keys: &[], for_sorted: false, limit, nothing: |to| to.integer(0) };
            connection.reply_in_turn(&wait, |_, _| None);
        }
        Err(refusal) => connection.refuse(&refusal),
    }
}

/// How many replicas, and how long; for ever if that is 0.
fn parse(arguments: &[&[u8]]) -> Result<(i64, Option<Duration>), Refusal> {
    let replicas = number::parse(arguments[1]).ok_or(NO_INTEGER)?;
    let milliseconds = number::parse(arguments[2]).ok_or(NO_WHOLE_TIMEOUT)?;
    let milliseconds = u64::try_from(milliseconds).map_err(|_| TIMEOUT_NEGATIVE)?;
    Ok((replicas, (milliseconds > 0).then(|| Duration::from_millis(milliseconds))))
}
