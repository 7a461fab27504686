//! Channels: PUBLISH, SUBSCRIBE and the like, PUBSUB.
//!
//! Each worker knows what its clients have subscribed to, and every message goes to all workers.

use crate::clients::{Clients, Message, Topic};
use crate::commands::subcommands::help;
use crate::connection::Connection;
use std::collections::BTreeSet;

pub fn publish(connection: &mut Connection, arguments: &[&[u8]]) {
    // When a subscriber gets the message, everything that this client sent before has been done.
    connection.finish_pending();
    let message = Message { channel: arguments[1].to_vec(), text: arguments[2].to_vec() };
    let counts = connection.server.clients.map_all_with(Clients::deliver, message);
    // A client in RESP3 may have subscribed to this channel: as in redis, the message comes before the reply. In the
    // reply to EXEC there is no place for it.
    if connection.mail.is_subscribed() && !connection.is_executing {
        let messages = connection.clients_here(Clients::take_messages);
        connection.plan.reply().raw(&messages);
    }
    connection.plan.reply().integer(counts.iter().sum::<u64>() as i64);
}

pub fn subscribe_to_channels(connection: &mut Connection, arguments: &[&[u8]]) {
    subscribe(connection, &arguments[1..], Topic::Channel);
}

pub fn subscribe_to_patterns(connection: &mut Connection, arguments: &[&[u8]]) {
    subscribe(connection, &arguments[1..], Topic::Pattern);
}

pub fn unsubscribe_from_channels(connection: &mut Connection, arguments: &[&[u8]]) {
    unsubscribe(connection, &arguments[1..], Topic::Channel);
}

pub fn unsubscribe_from_patterns(connection: &mut Connection, arguments: &[&[u8]]) {
    unsubscribe(connection, &arguments[1..], Topic::Pattern);
}

fn subscribe(connection: &mut Connection, names: &[&[u8]], topic: Topic) {
    connection.woken();
    let kind: &[u8] = if topic == Topic::Channel { b"subscribe" } else { b"psubscribe" };
    for name in names {
        let count = connection.clients_here(|clients, client| clients.subscribe(client, topic, name));
        tell(connection, kind, Some(name), count);
    }
}

/// From these, or from all.
fn unsubscribe(connection: &mut Connection, names: &[&[u8]], topic: Topic) {
    // What arrived before the end is delivered before the end.
    let messages = connection.clients_here(Clients::take_messages);
    connection.plan.reply().raw(&messages);
    let kind: &[u8] = if topic == Topic::Channel { b"unsubscribe" } else { b"punsubscribe" };
    let all = connection.clients_here(|clients, client| clients.subscriptions(client, topic));
    let names = if names.is_empty() { all.iter().map(|name| &**name).collect() } else { names.to_vec() };
    if names.is_empty() {
        let count = connection.mail.subscriptions();
        tell(connection, kind, None, count);
    }
    for name in names {
        let count = connection.clients_here(|clients, client| clients.unsubscribe(client, topic, name));
        tell(connection, kind, Some(name), count);
    }
}

/// Reports how many subscriptions there are now.
fn tell(connection: &mut Connection, kind: &[u8], name: Option<&[u8]>, count: usize) {
    connection.set_subscriptions(count);
    let mut reply = connection.plan.reply();
    reply.push(3);
    reply.bulk(kind);
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.length(count);
}

pub fn pubsub(connection: &mut Connection, arguments: &[&[u8]]) {
    let subcommand = arguments[1].to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"channels", rest @ ([] | [_])) => {
            let pattern = rest.first().map(|pattern| pattern.to_vec());
            let channels = connection.server.clients.map_all_with(Clients::channels, pattern);
            let channels: BTreeSet<_> = channels.into_iter().flatten().collect();
            let mut reply = connection.plan.reply();
            reply.array(channels.len());
            channels.iter().for_each(|channel| reply.bulk(channel));
        }
        (b"numsub", channels) => {
            let names: Vec<_> = channels.iter().map(|channel| channel.to_vec()).collect();
            let counts = connection.server.clients.map_all_with(Clients::subscribers, names);
            let mut reply = connection.plan.reply();
            reply.array(2 * channels.len());
            for (index, channel) in channels.iter().enumerate() {
                reply.bulk(channel);
                reply.integer(counts.iter().map(|counts| counts[index]).sum::<u64>() as i64);
            }
        }
        (b"numpat", []) => {
            let patterns: BTreeSet<_> =
                connection.server.clients.map_all(Clients::patterns).into_iter().flatten().collect();
            connection.plan.reply().length(patterns.len());
        }
        (b"help", _) => help(connection, "pubsub"),
        _ => connection.refuse_subcommand("PUBSUB", arguments[1]),
    }
}
