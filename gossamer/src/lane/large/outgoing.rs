//! Large values on their way out, in as many fragments as there is room for.

use crate::fabric::{Busy, FRAGMENT_BYTES, Fabric, Fragment};
use crate::wire::rows::Rows;

/// How much of a value was sent.
#[derive(Default)]
pub(crate) struct Progress {
    /// The row that is being sent, and how many of its bytes were sent.
    row: usize,
    sent: usize,
}

impl Progress {
    /// Sends what is left, as far as the fabric takes it. Calls `ring` after each fragment, so that the reader copies
    /// one while the next is sent. Rows that the fabric takes whole are moved out.
    ///
    /// # Errors
    /// If the fabric is busy, and something is left.
    pub(crate) fn send(
        &mut self,
        ticket: u64,
        rows: &mut Rows,
        fabric: &impl Fabric,
        ring: impl Fn(),
    ) -> Result<(), Busy> {
        while let Some((_, bytes)) = rows.row(self.row) {
            let goes_whole = self.sent == 0 && fabric.takes_rows_of(bytes.len());
            if !(goes_whole && self.send_row(ticket, rows, fabric)?) {
                self.send_fragment(ticket, rows, fabric)?;
            }
            ring();
        }
        Ok(())
    }

    /// Sends the row as a whole, if the fabric takes it now. Returns whether it has.
    fn send_row(&mut self, ticket: u64, rows: &mut Rows, fabric: &impl Fabric) -> Result<bool, Busy> {
        if !fabric.has_room() {
            return Err(Busy);
        }
        match rows.take(self.row).map(|row| fabric.send_row(ticket, row)) {
            Some(Ok(())) => {
                self.row += 1;
                Ok(true)
            }
            Some(Err(row)) => {
                rows.put_back(self.row, row);
                Ok(false)
            }
            None => Ok(false),
        }
    }

    fn send_fragment(&mut self, ticket: u64, rows: &Rows, fabric: &impl Fabric) -> Result<(), Busy> {
        let Some((row, bytes)) = rows.row(self.row) else { return Ok(()) };
        let left = &bytes[self.sent..];
        let fragment = &left[..left.len().min(FRAGMENT_BYTES)];
        fabric.send(Fragment { ticket, row, bytes: fragment })?;
        self.sent += fragment.len();
        if self.sent == bytes.len() {
            (self.row, self.sent) = (self.row + 1, 0);
        }
        Ok(())
    }
}

/// A large value that waits with its request.
pub(crate) struct LargeValue {
    ticket: u64,
    rows: Rows,
    progress: Progress,
}

impl LargeValue {
    pub(crate) fn new(ticket: u64, rows: Rows) -> Self {
        Self { ticket, rows, progress: Progress::default() }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes_of_all()
    }

    /// Like `Progress::send`.
    pub(crate) fn send(&mut self, fabric: &impl Fabric, ring: impl Fn()) -> Result<(), Busy> {
        self.progress.send(self.ticket, &mut self.rows, fabric, ring)
    }
}
