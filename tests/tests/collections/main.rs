//! Collections: vectors and maps that are spread over workers, against those of the standard library.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod cancelling;
mod captures;
mod chosen;
mod emissions;
mod emitted_keys;
mod file_lines;
mod files;
mod folds;
mod frontier;
mod handles;
mod loops;
mod map_loops;
mod map_oracle;
mod map_trouble;
mod maps;
mod oracle;
mod places;
mod queue;
mod refused;
mod sorts;
mod totals;
mod trouble;
mod updates;

use oracle::layouts;
