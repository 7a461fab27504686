//! Tests of `gossamer send` and `gossamer recv`.

mod frozen;
mod hostile;
mod interception;
mod network;
mod resume;
mod retry;
mod shared_directory;
mod strangers;
mod transfers;
mod trouble;
