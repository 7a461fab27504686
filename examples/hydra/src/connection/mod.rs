//! One client: reads its requests, has them done, writes the replies.

mod activity;
mod asking;
mod guard;
pub mod hold;
pub mod mail;
mod plan;
mod reading;
pub mod registry;
mod stream;
pub mod turns;

pub use stream::Stream;

use crate::clients::{ClientCounts, Clients};
use crate::commands::names::command;
use crate::commands::subcommands;
use crate::commands::table::{AT_ONCE, CONTAINER, Command, FREE, GROWS, HOLDS, Handler, SHARES};
use crate::commands::transactions::{self, Queue, Watched};
use crate::protocol::parser::{Malformed, Parsed, Parser};
use crate::protocol::refusal::{NO_AUTHENTICATION, OUT_OF_MEMORY, Refusal, arity, quoting};
use crate::server::Server;
use crate::store::Shard;
use asking::SharedHold;
use gossamer::{Trust, Trustee};
use mail::Mail;
use plan::Plan;
use reading::Input;
use registry::Registered;
use std::io;
use std::rc::Rc;

/// Replies that are gathered before they are written, about.
const MOST_GATHERED: usize = 1 << 20;
/// Arguments that need no allocation.
const FEW: usize = 8;

/// A client.
pub struct Connection {
    stream: Rc<Stream>,
    pub server: Server,
    input: Input,
    parser: Parser,
    pub plan: Plan,
    /// The shard of this worker, if it has one.
    here: usize,
    /// The index of this worker.
    worker: usize,
    /// Shards that commands share which came one after another.
    shared: Option<SharedHold>,
    pub registered: Registered,
    pub is_authenticated: bool,
    /// Commands since MULTI.
    pub queue: Option<Queue>,
    pub watched: Watched,
    pub mail: Mail,
    /// EXEC does its commands.
    pub is_executing: bool,
    /// It ends once the replies are written.
    pub is_ending: bool,
    /// Why replies could not be written during a command.
    failed: Option<io::Error>,
}

impl Connection {
    /// Serves a client until it goes, or has to.
    pub fn serve(stream: Stream, server: Server) {
        let settings = server.settings.read();
        let is_authenticated = settings.password.is_empty();
        let addresses = [stream.peer(), stream.local()];
        let shards = server.shards();
        let worker = Trustee::here();
        let here = shards.iter().position(|shard| shard.trustee() == worker).unwrap_or(usize::MAX);
        let registered = Registered::new(addresses, worker.index(), settings.most_clients);
        drop(settings);
        let Some(registered) = registered else {
            let counts = ClientCounts { rejected: 1, ..ClientCounts::default() };
            server.clients.shards()[worker.index()].apply_here(|clients| clients.count(counts));
            // It may be gone already.
            drop(stream.write_all(b"-ERR max number of clients reached\r\n"));
            return;
        };
        let stream = Rc::new(stream);
        let plan = Plan::lent(shards.len(), here);
        let mut connection = Self {
            stream,
            server,
            input: Input::default(),
            parser: Parser::default(),
            plan,
            here,
            worker: worker.index(),
            shared: None,
            registered,
            is_authenticated,
            queue: None,
            watched: Watched::new(),
            mail: Mail::default(),
            is_executing: false,
            is_ending: false,
            failed: None,
        };
        connection.clients_here(|clients, client| {
            clients.join(client, &connection.stream);
            clients.count(ClientCounts { received: 1, ..ClientCounts::default() });
        });
        // A client that is gone is no error of this server's.
        drop(connection.run());
    }

    fn run(&mut self) -> io::Result<()> {
        let mut has_more = false;
        while !self.is_ending {
            self.plan.give_back();
            if !has_more {
                if self.mail.is_subscribed() {
                    self.write_messages()?;
                }
                if self.input.read(&self.stream)? == 0 {
                    return Ok(());
                }
            }
            let shards = self.shards().len();
            self.plan.lend_again(shards, self.here);
            has_more = self.serve_input()?;
            self.answer()?;
        }
        self.stream.shutdown()
    }

    /// Does all commands that have come. Returns whether more was read while one of them waited.
    fn serve_input(&mut self) -> io::Result<bool> {
        self.registered.activity.is_heard();
        let (input, mut parser) = (self.input.take(), std::mem::take(&mut self.parser));
        let (mut at, mut commands) = (0, 0);
        while !self.is_ending {
            let limits = self.server.limits(self.is_authenticated);
            match parser.parse(&input, at, limits) {
                Ok(Parsed::Incomplete) => break,
                Ok(Parsed::Request(end)) => {
                    let count = parser.count();
                    commands += u64::from(count > 0);
                    self.plan.has_more = end < input.len();
                    if count > FEW {
                        let arguments: Vec<_> =
                            (0..count).map(|index| parser.argument(&input, at, index)).collect();
                        self.serve_request(&arguments)?;
                        drop(arguments);
                        parser.shrink();
                    } else if count > 0 {
                        let mut arguments = [&[][..]; FEW];
                        for (index, argument) in arguments[..count].iter_mut().enumerate() {
                            *argument = parser.argument(&input, at, index);
                        }
                        self.serve_request(&arguments[..count])?;
                    }
                    at = end;
                    if self.plan.length() > MOST_GATHERED {
                        self.answer()?;
                    }
                }
                Err(Malformed(what)) => {
                    self.plan.reply().error(&[&b"ERR Protocol error: "[..], &what].concat());
                    self.is_ending = true;
                }
            }
        }
        self.registered.activity.set_queued(self.queue.as_ref().map(Queue::length));
        self.clients_here(|clients, _| clients.count(ClientCounts { commands, ..ClientCounts::default() }));
        self.parser = parser;
        let has_more = self.input.length() > 0;
        self.input.put_back(input, at);
        Ok(has_more)
    }

    #[inline]
    fn serve_request(&mut self, arguments: &[&[u8]]) -> io::Result<()> {
        let command = command(arguments[0]);
        let shares = arguments.len() > 2 && command.is_some_and(|command| command.has(SHARES));
        if !shares {
            self.end_sharing();
        }
        let Some(command) = command else {
            return self.refuse_unknown(arguments);
        };
        self.registered.activity.has_sent(command);
        if command.has(CONTAINER) {
            self.registered.set_container(subcommands::full_name(command, arguments));
        }
        if !command.accepts(arguments.len()) {
            transactions::refuse_command(self, command.name, &arity(command.name));
        } else if command.has(CONTAINER)
            && let Err(refusal) = subcommands::check(command, arguments)
        {
            transactions::refuse(self, &refusal);
        } else if !self.is_authenticated && !command.has(FREE) {
            transactions::refuse_command(self, command.name, &NO_AUTHENTICATION);
        } else if self.queue.is_some() && !command.has(AT_ONCE) {
            transactions::queue(self, command, arguments);
        } else if self.mail.is_subscribed() && !self.may_subscriber(command) {
            self.refuse_subscriber(command, arguments);
        } else {
            // With a single key it takes no shard.
            if command.has(HOLDS) && (shares || !command.has(SHARES)) && self.shared.is_none() {
                self.settle()?;
            }
            self.execute(command, arguments);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Has a command done.
    #[inline]
    pub fn execute(&mut self, command: &Command, arguments: &[&[u8]]) {
        match command.handler {
            Handler::Key(operation) => self.ask(operation, arguments[1], &arguments[1..]),
            Handler::Sum(operation) if arguments.len() == 2 => {
                self.ask(operation, arguments[1], &arguments[1..])
            }
            Handler::Sum(operation) => {
                let keys = &arguments[1..];
                self.share_hold(keys);
                keys.iter().for_each(|key| self.ask_part(operation, key, &[key]));
                self.plan.finish_sum(keys.len());
            }
            Handler::Own(_) if command.has(GROWS) && !transactions::has_room(self) => {
                self.refuse(&OUT_OF_MEMORY);
            }
            Handler::Own(own) => own(self, arguments),
        }
    }

    /// Replies with an error.
    #[cold]
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.plan.reply().error(&refusal.0);
    }

    /// As redis refuses arguments of a subcommand that are neither too few nor too many by its arity.
    #[cold]
    pub fn refuse_subcommand(&mut self, command: &str, subcommand: &[u8]) {
        let why = "ERR unknown subcommand or wrong number of arguments for '";
        let name = &subcommand[..subcommand.len().min(128)];
        self.refuse(&quoting(why, name, &format!("'. Try {command} HELP.")));
    }

    /// Has everything done that was asked before. While it holds no shard, large amounts of output are written now.
    pub fn finish_pending(&mut self) {
        if self.plan.transaction != 0 {
            self.plan.run(self.server.store.shards(), true);
        } else if let Err(error) = self.settle() {
            // Nobody reads the replies any more, but what was asked is done, before the command that comes next.
            while !self.plan.is_done() {
                self.plan.run(self.server.store.shards(), false);
                self.plan.is_written();
            }
            self.failed = Some(error);
        }
    }

    /// Has all that follows be about another database.
    pub fn select(&mut self, database: u16) {
        if database != self.plan.database {
            self.finish_pending();
            self.plan.database = database;
            self.registered.set_database(database);
        }
    }

    #[cold]
    fn refuse_unknown(&mut self, arguments: &[&[u8]]) -> io::Result<()> {
        if guard::is_suspicious(arguments[0]) {
            return self.end_suspicious();
        }
        // As redis shows them: up to a zero byte.
        let shown = |text: &'_ [u8], most| {
            text.split(|byte| *byte == 0).next().map_or(0, |text| text.len().min(most))
        };
        let name = &arguments[0][..shown(arguments[0], 128)];
        let mut text = [b"ERR unknown command '", name, b"', with args beginning with: "].concat();
        let mut room = 128_usize;
        for argument in &arguments[1..] {
            if room == 0 {
                break;
            }
            let part = &argument[..shown(argument, room)];
            text.extend_from_slice(&[b"'", part, b"' "].concat());
            room = room.saturating_sub(part.len() + 3);
        }
        transactions::note_refusal(self);
        self.plan.reply().error(&text);
        Ok(())
    }

    /// Has everything done that is under way, and writes the replies; those of many large values piece by piece.
    fn answer(&mut self) -> io::Result<()> {
        self.end_sharing();
        while !self.plan.is_done() {
            self.plan.run(self.server.store.shards(), false);
            if !self.plan.output.is_empty() {
                self.stream.write_all(&self.plan.output)?;
                self.plan.is_written();
            }
        }
        if !self.plan.output.is_empty() {
            self.stream.write_all(&self.plan.output)?;
            self.plan.is_written();
        }
        Ok(())
    }

    /// Completes everything that is under way, before shards are held: a holder must not wait for its client, so large
    /// amounts of output are written now.
    fn settle(&mut self) -> io::Result<()> {
        let is_settled = self.plan.is_settled() || self.plan.run(self.server.store.shards(), false);
        if is_settled && self.plan.length() <= MOST_GATHERED { Ok(()) } else { self.answer() }
    }

    pub fn shards(&self) -> &[Trust<Shard>] {
        self.server.store.shards()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.clients_here(Clients::close);
        let mut by_shard = vec![Vec::new(); self.shards().len()];
        for (database, keys) in std::mem::take(&mut self.watched) {
            for key in keys.into_keys() {
                by_shard[self.server.store.index_of(&key)].push((database, key));
            }
        }
        for (shard, keys) in self.shards().iter().zip(by_shard).filter(|(_, keys)| !keys.is_empty()) {
            // Nobody waits in a destructor.
            shard.apply_with_then(Shard::forget_watches, keys, |()| ());
        }
    }
}
