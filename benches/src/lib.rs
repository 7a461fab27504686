//! The benchmark harness: Gossamer beside what it is compared with, in one interleaved run.
//!
//! The binary `table` measures every contender of a group round robin, each measurement in a process of its
//! own, and prints one table of ratios per question asked. The contenders are behind the feature `baselines`.

pub mod clock;
pub mod latency;
pub mod machine;
pub mod measure;
pub mod memory;
pub mod partner;
pub mod random;
pub mod rounds;
pub mod statistics;
pub mod team;

#[cfg(feature = "baselines")]
pub mod catalogue;
#[cfg(feature = "baselines")]
pub mod contenders;
#[cfg(feature = "baselines")]
pub mod options;
#[cfg(feature = "baselines")]
pub mod plot;
#[cfg(feature = "baselines")]
pub mod report;
#[cfg(feature = "baselines")]
pub mod runner;
