//! Questions that one process passes on for another, such as a daemon for a user of another machine: the answer stays as it came, and is
//! understood by who has asked.

use crate::inspect::activity::NodeActivity;
use crate::inspect::question::{InspectionQuestion, asked, decoded};
use crate::inspect::report::NodeReport;
use crate::inspect::socket::InspectionSocket;
use std::io;

/// What a process says, encoded, of at most `longest` bytes: for [`NodeReport::all_from_bytes`] or [`NodeActivity::all_from_bytes`], in a
/// process of this version. It must be that process itself that listens at the socket, as the kernel has it.
///
/// It takes as long as was asked for (for backtraces half a minute) and five seconds more at most, whatever the process does.
///
/// # Errors
/// Like [`ask`](crate::inspect::ask), and if the answer is longer, or another process listens there.
pub fn ask_encoded(
    socket: &InspectionSocket,
    question: InspectionQuestion,
    longest: u64,
) -> io::Result<Vec<u8>> {
    asked(|| socket.connect_to_its_process(), question, longest)
}

impl NodeReport {
    /// What [`ask_encoded`] has got for [`InspectionQuestion::Fibers`] and [`InspectionQuestion::Backtraces`].
    ///
    /// # Errors
    /// If these bytes are no such answer.
    pub fn all_from_bytes(bytes: &[u8]) -> io::Result<Vec<Self>> {
        decoded(bytes)
    }
}

impl NodeActivity {
    /// What [`ask_encoded`] has got for [`InspectionQuestion::Activity`].
    ///
    /// # Errors
    /// If these bytes are no such answer.
    pub fn all_from_bytes(bytes: &[u8]) -> io::Result<Vec<Self>> {
        decoded(bytes)
    }
}
