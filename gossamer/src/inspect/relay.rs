//! Questions that one process passes on for another, such as a daemon for a user of another machine: the answer stays
//! as it came, and the process that asked decodes it.

use crate::inspect::activity::NodeActivity;
use crate::inspect::question::{InspectionQuestion, asked, decoded};
use crate::inspect::report::NodeReport;
use crate::inspect::socket::InspectionSocket;
use std::io;

/// The encoded answer of a process, of at most `longest` bytes: for [`NodeReport::all_from_bytes`] or
/// [`NodeActivity::all_from_bytes`], in a process of this version. That process itself must listen at the socket, as
/// the kernel reports it.
///
/// It takes at most the requested time (half a minute for backtraces) and five seconds more, whatever the process does.
///
/// # Errors
/// As for [`ask`](crate::inspect::ask), and if the answer is longer, or another process listens there.
pub fn ask_encoded(
    socket: &InspectionSocket,
    question: InspectionQuestion,
    longest: u64,
) -> io::Result<Vec<u8>> {
    asked(|| socket.connect_to_its_process(), question, longest)
}

impl NodeReport {
    /// Decodes what [`ask_encoded`] has returned for [`InspectionQuestion::Fibers`] or
    /// [`InspectionQuestion::Backtraces`].
    ///
    /// # Errors
    /// If these bytes are no such answer.
    pub fn all_from_bytes(bytes: &[u8]) -> io::Result<Vec<Self>> {
        decoded(bytes)
    }
}

impl NodeActivity {
    /// Decodes what [`ask_encoded`] has returned for [`InspectionQuestion::Activity`].
    ///
    /// # Errors
    /// If these bytes are no such answer.
    pub fn all_from_bytes(bytes: &[u8]) -> io::Result<Vec<Self>> {
        decoded(bytes)
    }
}
