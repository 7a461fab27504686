//! What a sender and a receiver have in common: a ring, its pump, and waiting.

use crate::stream::blocking::run_blocking;
use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::ring::Ring;
use crate::stream::error::End;
use crate::stream::options::Options;
use crate::stream::pump::PeerConnection;
use crate::stream::{Error, Faults, Geometry};
use crate::sys::process::forked::Process;
use std::sync::Arc;
use std::time::Duration;

/// One end of a stream.
pub(crate) struct StreamEnd {
    pub(crate) ring: Arc<Ring>,
    end: End,
    /// The length, if it is known from the start.
    pub(crate) length: Option<u64>,
    pub(crate) faults: Faults,
    patience: Option<Duration>,
    connection: Option<PeerConnection>,
    process: Process,
    /// All is confirmed.
    done: bool,
}

impl StreamEnd {
    /// An end with its ring; there is a `connection` unless both ends are in this process.
    pub(crate) fn new(
        ring: Arc<Ring>,
        end: End,
        length: Option<u64>,
        options: &Options,
        connection: Option<PeerConnection>,
    ) -> Self {
        let (faults, patience) = (options.faults, options.patience);
        if let Some(length) = length {
            ring.flow().set_length(length);
        }
        Self { ring, end, length, faults, patience, connection, process: Process::this(), done: false }
    }

    pub(crate) fn flow(&self) -> &Flow {
        self.ring.flow()
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.ring.geometry
    }

    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// Checks that this is the process that the stream belongs to.
    ///
    /// # Errors
    /// If it was forked from that.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.process.is_this() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Checks that the stream goes on, or has ended well.
    ///
    /// # Errors
    /// What has ended it before its time.
    pub(crate) fn check_failure(&self) -> Result<(), Error> {
        let failure = self.ring.failure();
        failure.map_or(Ok(()), |failure| Err(self.ring.error(failure)))
    }

    /// Waits until `ready`: a fiber lets others run meanwhile.
    ///
    /// # Errors
    /// What ended the stream.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub(crate) fn wait(&self, ready: impl Fn(&Flow) -> bool + Send + 'static) -> Result<(), Error> {
        self.check_process()?;
        if ready(self.flow()) {
            return Ok(());
        }
        self.end.counters().note_wait();
        // The flow may be shared with another process, which cannot wake a fiber.
        let (ring, patience) = (Arc::clone(&self.ring), self.patience);
        let outcome = run_blocking("stream", move || ring.wait(patience, ready))?;
        outcome.map_err(|failure| self.ring.error(failure))
    }

    /// The sender: waits for the slot of a block.
    ///
    /// # Errors
    /// What ended the stream.
    #[track_caller]
    pub(crate) fn wait_for_room(&self, block: u64) -> Result<(), Error> {
        let geometry = self.geometry();
        self.wait(move |flow| flow.has_room_for(block, &geometry))
    }

    /// The receiver: waits for `least` bytes from `offset` on, or the rest of its block. Returns how many there are;
    /// `None` if the stream ends before them.
    ///
    /// # Errors
    /// What ended the stream early.
    #[track_caller]
    pub(crate) fn wait_for_bytes(&self, offset: u64, least: u64) -> Result<Option<usize>, Error> {
        let geometry = self.geometry();
        let is_behind = move |flow: &Flow| flow.length().is_some_and(|length| length <= offset);
        self.wait(move |flow| {
            let rest = flow.end_of(geometry.block_of(offset), &geometry).saturating_sub(offset);
            is_behind(flow) || flow.readable(offset, &geometry) >= least.min(rest)
        })?;
        let bytes = self.flow().readable(offset, &geometry) as usize;
        Ok(Some(bytes).filter(|bytes| *bytes > 0 && !is_behind(self.flow())))
    }

    /// The receiver: waits for a block; false if the stream ends before it.
    ///
    /// # Errors
    /// What ended the stream early.
    #[track_caller]
    pub(crate) fn wait_for_block(&self, block: u64) -> Result<bool, Error> {
        let geometry = self.geometry();
        let is_behind =
            move |flow: &Flow| flow.length().is_some_and(|length| geometry.blocks_of(length) <= block);
        self.wait(move |flow| flow.written() > block || is_behind(flow))?;
        Ok(!is_behind(self.flow()))
    }

    /// The sender has written all: waits until the receiver has confirmed it.
    ///
    /// # Errors
    /// What ended the stream early.
    #[track_caller]
    pub(crate) fn finish_sending(&mut self, length: u64) -> Result<(), Error> {
        self.check_process()?;
        // A stream that has failed must not look like one that has ended well.
        self.check_failure()?;
        self.flow().set_length(length);
        self.flow().hand_over(self.geometry().blocks_of(length));
        self.flow().end();
        self.wait(Flow::is_taken)?;
        self.done = true;
        Ok(())
    }

    /// The receiver: releases all blocks as they come, up to the end.
    ///
    /// # Errors
    /// What ended the stream early.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        let mut block = self.flow().released();
        while self.wait_for_block(block)? {
            block = self.flow().written();
            self.flow().release(block);
        }
        Ok(())
    }

    /// The receiver has read everything: waits until the sender says that this is the end, and confirms it.
    ///
    /// # Errors
    /// What ended the stream early.
    #[track_caller]
    pub(crate) fn finish_receiving(&mut self) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        self.wait(Flow::is_ended)?;
        self.flow().take();
        if self.connection.as_ref().is_some_and(PeerConnection::settles) {
            self.wait(Flow::is_settled)?;
        }
        self.done = true;
        Ok(())
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        let connection = self.connection.take();
        if !self.process.is_this() {
            // The parent also has the connections.
            std::mem::forget(connection);
            return;
        }
        if !self.done {
            self.flow().fail(Failure::aborted_by(self.end));
        }
    }
}
