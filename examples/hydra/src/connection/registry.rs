//! The clients of this process: how many there are, and what is known of each.

use crate::commands::table::CONTAINER;
use crate::connection::activity::Activity;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static BLOCKED: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);
/// What CLIENT LIST shows. It is locked when clients come, go, change their names or what they have subscribed to, and by
/// commands with subcommands: never during an ordinary request.
static CLIENTS: Mutex<BTreeMap<u64, Client>> = Mutex::new(BTreeMap::new());

struct Client {
    peer: String,
    /// Where it has connected.
    local: String,
    /// The index of its worker.
    worker: usize,
    name: String,
    since: Instant,
    database: u16,
    is_resp3: bool,
    /// To how many channels and patterns it has subscribed.
    subscriptions: [usize; 2],
    /// The last command that has subcommands, with its subcommand.
    container: String,
    activity: Arc<Activity>,
}

/// A client that counts, until this is dropped.
pub struct Registered {
    pub id: u64,
    pub activity: Arc<Activity>,
}

/// How many there are.
pub fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// How many wait for a key.
pub fn blocked() -> usize {
    BLOCKED.load(Ordering::Relaxed)
}

/// A client that waits for a key, until this is dropped.
pub struct Blocked(Arc<Activity>);

impl Drop for Blocked {
    fn drop(&mut self) {
        self.0.set_blocked(false);
        BLOCKED.fetch_sub(1, Ordering::Relaxed);
    }
}

fn with<U>(use_clients: impl FnOnce(&mut BTreeMap<u64, Client>) -> U) -> U {
    // A panic in one of the few lines under this lock leaves nothing half done.
    use_clients(&mut CLIENTS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What CLIENT KILL looks for; a filter that is not given is not checked.
#[derive(Default)]
pub struct Filter {
    pub id: Option<u64>,
    pub peer: Option<String>,
    pub local: Option<String>,
    pub kind: Option<Kind>,
}

/// Redis's types of clients.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Normal,
    /// It has subscribed to something.
    Subscriber,
    /// There are none.
    Replica,
}

impl Kind {
    pub fn named(name: &[u8]) -> Option<Self> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Some(Self::Normal),
            b"pubsub" => Some(Self::Subscriber),
            b"master" | b"replica" | b"slave" => Some(Self::Replica),
            _ => None,
        }
    }
}

/// The workers and numbers of the clients that a filter finds.
pub fn find(filter: &Filter) -> Vec<(usize, u64)> {
    let is_wanted = |id: u64, client: &Client| {
        filter.id.is_none_or(|wanted| wanted == id)
            && filter.peer.as_ref().is_none_or(|peer| *peer == client.peer)
            && filter.local.as_ref().is_none_or(|local| *local == client.local)
            && filter.kind.is_none_or(|kind| kind == client.kind())
    };
    with(|clients| {
        let found = clients.iter().filter(|(id, client)| is_wanted(**id, client));
        found.map(|(id, client)| (client.worker, *id)).collect()
    })
}

/// A client that was ended: nobody sees it any more, even if its fiber does not know yet.
pub fn forget(id: u64) {
    with(|clients| clients.remove(&id));
}

/// A line for each client, or for those of these numbers or this type.
pub fn list(ids: Option<&[i64]>, kind: Option<Kind>) -> String {
    let is_wanted = |id: u64, client: &Client| {
        ids.is_none_or(|ids| ids.contains(&(id as i64))) && kind.is_none_or(|kind| kind == client.kind())
    };
    with(|clients| {
        let wanted = clients.iter().filter(|(id, client)| is_wanted(**id, client));
        wanted.map(|(id, client)| client.line(*id)).collect()
    })
}

impl Client {
    fn kind(&self) -> Kind {
        if self.subscriptions == [0; 2] { Kind::Normal } else { Kind::Subscriber }
    }

    fn line(&self, id: u64) -> String {
        let Self { peer, local, name, database, subscriptions: [channels, patterns], .. } = self;
        let (age, idle) = (self.since.elapsed().as_secs(), self.activity.idle());
        let (flags, multi, command) = (self.flags(), self.activity.queued(), self.command());
        let resp = if self.is_resp3 { 3 } else { 2 };
        format!(
            "id={id} addr={peer} laddr={local} name={name} age={age} idle={idle} flags={flags} db={database} \
             sub={channels} psub={patterns} multi={multi} cmd={command} user=default resp={resp}\n"
        )
    }

    /// As redis has them.
    fn flags(&self) -> String {
        let flags = [
            (self.kind() == Kind::Subscriber, 'P'),
            (self.activity.queued() >= 0, 'x'),
            (self.activity.is_blocked(), 'b'),
        ];
        let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
        if flags.is_empty() { "N".to_owned() } else { flags }
    }

    /// The last command; as redis, with its subcommand.
    fn command(&self) -> &str {
        match self.activity.command() {
            None => "NULL",
            Some(command) if command.has(CONTAINER) => &self.container,
            Some(command) => command.name,
        }
    }
}

impl Registered {
    /// Unless there are as many as there may be.
    pub fn new([peer, local]: [String; 2], worker: usize, most: usize) -> Option<Self> {
        // Relaxed: it is a count, and nothing else depends on it.
        let is_counted = COUNT
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| (count < most).then_some(count + 1));
        is_counted.ok()?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (name, since) = (String::new(), Instant::now());
        let activity = Arc::new(Activity::new());
        let client = Client {
            peer,
            local,
            worker,
            name,
            since,
            database: 0,
            is_resp3: false,
            subscriptions: [0; 2],
            container: String::new(),
            activity: Arc::clone(&activity),
        };
        with(|clients| clients.insert(id, client));
        Some(Self { id, activity })
    }

    /// It waits for a key from now on.
    pub fn blocked(&self) -> Blocked {
        // Relaxed: as `COUNT`.
        BLOCKED.fetch_add(1, Ordering::Relaxed);
        self.activity.set_blocked(true);
        Blocked(Arc::clone(&self.activity))
    }

    fn change(&self, change: impl FnOnce(&mut Client)) {
        with(|clients| clients.get_mut(&self.id).map_or((), change));
    }

    pub fn set_name(&self, name: String) {
        self.change(|client| client.name = name);
    }

    pub fn name(&self) -> String {
        with(|clients| clients.get(&self.id).map_or_else(String::new, |client| client.name.clone()))
    }

    pub fn set_resp3(&self, is_resp3: bool) {
        self.change(|client| client.is_resp3 = is_resp3);
    }

    pub fn set_subscriptions(&self, subscriptions: [usize; 2]) {
        self.change(|client| client.subscriptions = subscriptions);
    }

    /// It has had a command done that has subcommands; the name is that of both.
    pub fn set_container(&self, name: String) {
        self.change(|client| client.container = name);
    }

    pub fn set_database(&self, database: u16) {
        self.change(|client| client.database = database);
    }

    /// The line of CLIENT INFO.
    pub fn line(&self) -> String {
        with(|clients| clients.get(&self.id).map_or_else(String::new, |client| client.line(self.id)))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        with(|clients| clients.remove(&self.id));
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
