//! Tests of `gossamer send` and `gossamer recv`.

mod hostile;
mod network;
mod resume;
mod shared_directory;
mod strangers;
mod transfers;
mod trouble;
