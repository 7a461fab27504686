//! Syncs a file while it is being written, so that little is left to wait for once it is complete.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// A request is worth its cost from this many bytes on.
const STEP: usize = 8 << 20;

/// A thread that syncs a file whenever enough was written.
#[derive(Debug, Default)]
pub struct Writeback {
    waiting: usize,
    thread: Option<(SyncSender<()>, JoinHandle<io::Result<()>>)>,
}

impl Writeback {
    /// Counts further bytes that were written.
    pub fn written(&mut self, file: &File, bytes: usize) {
        self.waiting += bytes;
        if self.waiting < STEP {
            return;
        }
        self.waiting = 0;
        if self.thread.is_none() {
            // Without the thread, only the end takes longer.
            self.thread = start(file).ok();
        }
        if let Some((ask, _)) = &self.thread {
            // As long as it has not begun the request before, that one covers these bytes, too.
            let _asked = ask.try_send(());
        }
    }

    /// Waits for syncs that have begun. The rest is left to the caller.
    ///
    /// # Errors
    /// What could not be written. The system reports that only once, to one caller.
    pub fn finish(self) -> io::Result<()> {
        let Some((ask, thread)) = self.thread else { return Ok(()) };
        drop(ask);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs has panicked")))
    }
}

fn start(file: &File) -> io::Result<(SyncSender<()>, JoinHandle<io::Result<()>>)> {
    let file = file.try_clone()?;
    let (ask, asked) = sync_channel(1);
    let sync = move || asked.iter().try_for_each(|()| synced(&file, file.sync_data()));
    Ok((ask, thread::Builder::new().name("writeback".into()).spawn(sync)?))
}

/// A file that could not be synced is worth nothing: its pages in memory may not be on disk, and the next sync may
/// succeed all the same. So nothing is kept for a later transfer to continue with.
///
/// # Errors
/// That of the sync.
pub fn synced(file: &File, outcome: io::Result<()>) -> io::Result<()> {
    outcome.inspect_err(|_| {
        // What stays is compared before it is used.
        let _emptied = file.set_len(0);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_could_not_be_synced_is_emptied() {
        let path = std::env::temp_dir().join(format!("gossamer-writeback-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        file.write_all(b"contents").unwrap();
        assert!(synced(&file, Ok(())).is_ok());
        assert_eq!(file.metadata().unwrap().len(), 8);
        assert!(synced(&file, Err(io::Error::other("the disk is gone"))).is_err());
        assert_eq!(file.metadata().unwrap().len(), 0);
        std::fs::remove_file(path).unwrap();
    }
}
