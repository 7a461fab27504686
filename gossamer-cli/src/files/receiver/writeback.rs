//! Has what is written to a file go to disk meanwhile, so that little is left to wait for once it is complete.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// This many bytes are worth a request.
const STEP: usize = 8 << 20;

/// A thread that syncs a file, once enough was written.
#[derive(Debug, Default)]
pub struct Writeback {
    waiting: usize,
    thread: Option<(SyncSender<()>, JoinHandle<io::Result<()>>)>,
}

impl Writeback {
    /// This many more bytes were written.
    pub fn written(&mut self, file: &File, bytes: usize) {
        self.waiting += bytes;
        if self.waiting < STEP {
            return;
        }
        self.waiting = 0;
        if self.thread.is_none() {
            // Without one it only takes longer in the end.
            self.thread = start(file).ok();
        }
        if let Some((ask, _)) = &self.thread {
            // While it has not begun with what it was asked for last, it syncs this as well.
            let _asked = ask.try_send(());
        }
    }

    /// Waits for what was begun. The rest is the caller's to sync.
    ///
    /// # Errors
    /// What could not be written: the system tells that once, and nobody else.
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
/// succeed all the same. So nothing is kept that could be resumed.
///
/// # Errors
/// That of the sync.
pub fn synced(file: &File, outcome: io::Result<()>) -> io::Result<()> {
    outcome.inspect_err(|_| {
        // What stays is compared before it is taken.
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
