//! Tests of `gossamer send` and `gossamer recv`.

mod hostile;
mod network;
mod resume;
mod strangers;
mod transfers;
mod trouble;
