//! Snapshots: all keys as they were at one moment, in one file on the machine of node 0. The file is replaced as a
//! whole.

use crate::connection::hold::Hold;
use crate::report;
use crate::server::Server;
use crate::settings::Settings;
use crate::snapshot_file::{Reader, Writer};
use crate::store::snapshot::{chunk, entries};
use crate::store::{Shard, now};
use gossamer::{JoinHandle, Trustee, unblock};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often to look whether another snapshot is complete.
const WAIT: Duration = Duration::from_millis(1);

/// Whether a snapshot is being made, and when the last one was.
#[derive(Default)]
pub struct Saves {
    is_saving: bool,
    /// The last one has failed.
    has_failed: bool,
    /// In seconds since 1970.
    last: u64,
}

impl Saves {
    /// False if a snapshot is being made already.
    pub fn begin(&mut self, (): ()) -> bool {
        !std::mem::replace(&mut self.is_saving, true)
    }

    fn end(&mut self, is_saved: bool) {
        (self.is_saving, self.has_failed) = (false, !is_saved);
        if is_saved {
            self.last = now() / 1000;
        }
    }

    /// Whether a snapshot is being made, and whether the last one has failed.
    pub fn state(&mut self, (): ()) -> [bool; 2] {
        [self.is_saving, self.has_failed]
    }

    pub fn last(&mut self, (): ()) -> u64 {
        self.last
    }
}

/// Makes a snapshot, which was begun: of what is there when this returns. Its file is written on node 0.
pub fn start(server: &Server) -> JoinHandle<Result<(), String>> {
    drop(take_moment(server));
    gossamer::spawn_on_with(Trustee::all()[0], save, server.clone())
}

/// Makes a snapshot after which nothing is lost: as long as the hold lives, clients get no replies about keys.
///
/// If one is being made already, it is waited for: it lacks what has changed since.
pub fn make_last(server: &Server) -> (Hold, Result<(), String>) {
    while !server.saves.apply_with(Saves::begin, ()) {
        gossamer::sleep(WAIT);
    }
    let hold = take_moment(server);
    let outcome = gossamer::spawn_on_with(Trustee::all()[0], save, server.clone()).join();
    (hold, outcome)
}

/// As `start`, for a client that does not wait for the end.
pub fn start_in_background(server: &Server) {
    drop(take_moment(server));
    drop(gossamer::spawn_on_with(Trustee::all()[0], save_or_report, server.clone()));
}

/// From now on the shards keep what they have at this moment, which is the same for all of them; nothing changes before
/// the hold is dropped.
fn take_moment(server: &Server) -> Hold {
    let hold = Hold::new(server.shards().to_vec());
    server.store.map_all(Shard::begin_snapshot);
    hold
}

fn save_or_report(server: Server) {
    if let Err(error) = save(server) {
        report::warn(error);
    }
}

fn path(server: &Server) -> PathBuf {
    let settings = server.settings.read();
    Path::new(&settings.directory).join(&settings.file)
}

fn save(server: Server) -> Result<(), String> {
    let path = path(&server);
    let outcome =
        write(&server, &path).map_err(|error| format!("cannot save to {}: {error}", path.display()));
    server.saves.apply_with(Saves::end, outcome.is_ok());
    outcome
}

fn write(server: &Server, path: &Path) -> io::Result<()> {
    let target = path.to_owned();
    let written = unblock(move || Writer::create(target)).and_then(|writer| write_chunks(server, writer));
    if written.is_err() {
        server.store.map_all(Shard::abandon_snapshot);
    }
    let writer = written?;
    unblock(move || writer.finish())
}

fn write_chunks(server: &Server, mut writer: Writer) -> io::Result<Writer> {
    for shard in server.shards() {
        while let Some(chunk) = shard.apply_with(Shard::next_chunk, ()) {
            let outcome;
            (writer, outcome) = unblock(move || {
                let written = writer.write(&chunk);
                (writer, written)
            });
            outcome?;
        }
    }
    Ok(writer)
}

/// That snapshots can be in the directory, as far as that can be told before one is made.
///
/// # Errors
/// If there is no such directory, or it is another kind of file.
pub fn check_directory(settings: &Settings) -> io::Result<()> {
    let directory = &settings.directory;
    let describe = |error: io::Error| io::Error::new(error.kind(), format!("--dir {directory}: {error}"));
    if std::fs::metadata(directory).map_err(describe)?.is_dir() {
        Ok(())
    } else {
        Err(describe(io::ErrorKind::NotADirectory.into()))
    }
}

/// Loads the keys from the file, if there is one; returns how many.
///
/// # Errors
/// If the file cannot be read, or is damaged.
pub fn load(server: &Server) -> io::Result<u64> {
    let path = path(server);
    let describe = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let target = path.clone();
    let Some(mut reader) = unblock(move || Reader::open(&target)).map_err(describe)? else { return Ok(0) };
    let mut count = 0;
    loop {
        let read;
        (reader, read) = unblock(move || {
            let read = reader.read();
            (reader, read)
        });
        let Some(bytes) = read.map_err(describe)? else { return Ok(count) };
        let damaged = |why: &str| describe(io::Error::new(io::ErrorKind::InvalidData, why));
        let (database, bytes) =
            chunk(&bytes, reader.version).ok_or_else(|| damaged("a chunk has no database"))?;
        if database >= server.settings.read().databases {
            let enough = u32::from(database) + 1;
            return Err(damaged(&format!(
                "there are keys of database {database}: start with --databases {enough} at least"
            )));
        }
        let mut parts = vec![database.to_le_bytes().to_vec(); server.shards().len()];
        for entry in entries(bytes, reader.version) {
            let entry = entry.ok_or_else(|| damaged("an entry is cut off"))?;
            entry.encode(&mut parts[server.store.index_of(entry.key)]);
            count += 1;
        }
        for (shard, part) in server.shards().iter().zip(parts) {
            shard.apply_with(Shard::load, part);
        }
    }
}
