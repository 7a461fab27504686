//! What reaches a client without a request: messages of the channels to which it has subscribed.

use crate::clients::Clients;
use crate::commands::table::{Command, SUBSCRIBED};
use crate::commands::{subcommands, transactions};
use crate::connection::Connection;
use crate::protocol::refusal::Refusal;
use gossamer::sync::Notify;
use std::io;

#[derive(Default)]
pub struct Mail {
    /// What wakes the client's fiber, once it has waited or subscribed.
    woken: Option<Notify>,
    /// To how many channels and patterns it has subscribed.
    pub(super) subscriptions: usize,
}

impl Mail {
    #[inline]
    pub fn is_subscribed(&self) -> bool {
        self.subscriptions > 0
    }

    pub fn subscriptions(&self) -> usize {
        self.subscriptions
    }
}

impl Connection {
    /// The clients of this worker, and the number of this one among them.
    pub fn clients_here<U>(&self, use_clients: impl FnOnce(&mut Clients, u64) -> U) -> U {
        let client = self.registered.id;
        self.server.clients.shards()[self.worker].apply_here(|clients| use_clients(clients, client))
    }

    /// Notes how many subscriptions this client has now.
    pub fn set_subscriptions(&mut self, count: usize) {
        self.mail.subscriptions = count;
        let counts = self.clients_here(|clients, client| clients.subscription_counts(client));
        self.registered.set_subscriptions(counts);
    }

    /// From now on, what wakes this client's fiber.
    pub fn woken(&mut self) -> Notify {
        if let Some(woken) = &self.mail.woken {
            return woken.clone();
        }
        let is_resp3 = self.plan.is_resp3;
        let woken = self.clients_here(|clients, client| clients.open(client, is_resp3));
        self.mail.woken = Some(woken.clone());
        woken
    }

    /// Writes messages that have arrived, and those that arrive later, until the client has sent something.
    pub(super) fn write_messages(&mut self) -> io::Result<()> {
        let woken = self.woken();
        loop {
            let messages = self.clients_here(Clients::take_messages);
            if !messages.is_empty() {
                self.stream.write_all(&messages)?;
                continue;
            }
            gossamer::select! {
                readable = self.stream.readable() => return readable,
                () = woken.notified_async() => {}
            }
        }
    }

    /// Whether a client that has subscribed may do this: it may do anything if messages can be told from replies, as in
    /// RESP3.
    pub(super) fn may_subscriber(&self, command: &Command) -> bool {
        self.plan.is_resp3 || command.has(SUBSCRIBED)
    }

    #[cold]
    pub(super) fn refuse_subscriber(&mut self, command: &Command, arguments: &[&[u8]]) {
        let why = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
        let name = subcommands::full_name(command, arguments);
        let refusal = Refusal::from(format!("ERR Can't execute '{name}': {why}"));
        transactions::refuse_command(self, command.name, &refusal);
    }
}
