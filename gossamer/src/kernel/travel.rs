//! How files, processes and signals travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::kernel::fs::File;
use crate::kernel::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use crate::kernel::signal::Signals;
use crate::wire::shape::Shape;

// SAFETY: a file owns its descriptor and what was read ahead, and holds no reference. The descriptor has a meaning in
// this process only, and it never leaves the process, since it has no encoding.
unsafe impl NoRef for File {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above, with descriptors of the process and of its pipes.
unsafe impl NoRef for Child {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for ChildStdin {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for ChildStdout {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for ChildStderr {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above; the flags that handlers of signals set are shared with these, and counted.
unsafe impl NoRef for Signals {
    const SHAPE: Shape = Shape::Stays;
}
