//! Tests of `gossamer send` and `gossamer recv`.

mod hostile;
mod network;
mod resume;
mod transfers;
mod trouble;
