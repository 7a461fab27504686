//! The file that a trace is written to.

use crate::trace::json::{self, Written};
use crate::trace::{NodeTrace, node_of};
use crate::worker::shared::Shared;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The file of a runtime.
pub(crate) struct TraceFile {
    path: PathBuf,
    every: u32,
    /// Node 0 has it from the start. The others open one only if they have to write their own events themselves.
    file: Mutex<Option<File>>,
}

/// Runtimes of a process may have the same file: one writes after another.
static WRITING: Mutex<()> = Mutex::new(());

impl TraceFile {
    /// The file of a runtime, if it is to be traced.
    ///
    /// # Errors
    /// If it cannot be written: the text names it, and says why.
    pub(crate) fn of(shared: &Shared) -> Result<Option<Arc<Self>>, String> {
        let Some(path) = shared.config.trace.clone() else { return Ok(None) };
        let (node, every) = (node_of(shared), shared.config.trace_every);
        if node > 0 {
            let mut path = path.into_os_string();
            path.push(format!(".node-{node}"));
            return Ok(Some(Arc::new(Self { path: path.into(), every, file: Mutex::default() })));
        }
        let file = File::create(&path).map_err(|error| {
            format!(
                "the trace cannot be written to {}, as GOSSAMER_TRACE, `gossamer run --trace` or Config::trace has it: {error}",
                path.display()
            )
        })?;
        Ok(Some(Arc::new(Self { path, every, file: Mutex::new(Some(file)) })))
    }

    /// Writes what nodes have kept, over what was written before. Reports that, or why it cannot.
    pub(crate) fn write(&self, own: NodeTrace, others: Vec<NodeTrace>) {
        let nodes: Vec<_> = std::iter::once(own).chain(others).collect();
        let path = self.path.display();
        let text = match self.try_write(&nodes) {
            Ok(Written { events, lost, error, unknown }) => {
                let lost =
                    if lost == 0 { String::new() } else { format!("; {lost} earlier ones are not kept") };
                let error = match (nodes.len(), unknown) {
                    (1, _) => String::new(),
                    (_, 0) => format!("; their clocks agree to within {} us", error.div_ceil(1000)),
                    (_, unknown) => format!("; the clocks of {unknown} of them are not known"),
                };
                let plural = if nodes.len() == 1 { "" } else { "s" };
                format!("{path} has {events} events of {} node{plural}{lost}{error}", nodes.len())
            }
            Err(error) => format!("the trace could not be written to {path}: {error}"),
        };
        // Nothing can be done about a closed stderr.
        let _unheard = writeln!(io::stderr(), "gossamer: {text}");
    }

    fn try_write(&self, nodes: &[NodeTrace]) -> io::Result<Written> {
        let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        file.rewind()?;
        file.set_len(0)?;
        let mut out = BufWriter::new(file);
        let written = json::write(nodes, self.every, &mut out)?;
        out.flush()?;
        Ok(written)
    }
}
