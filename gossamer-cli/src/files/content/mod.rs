//! The contents of files: where on disk they are, and digests by which both sides compare them.

pub mod digest;
pub mod file;
