//! The programs of this workspace that are measured. One call of Cargo builds all of them, so that what they share is
//! built once.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::programs::executables;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The packages, and the features that they need.
const ARGUMENTS: [&str; 15] = [
    "build",
    "--release",
    "--package=rpc_bench",
    "--package=graph500",
    "--package=hydra",
    "--package=gossamer-cli",
    "--package=benches",
    "--features=benches/baselines,benches/rpc",
    "--bin=rpc_bench",
    "--bin=graph500",
    "--bin=hydra",
    "--bin=gossamer",
    "--bin=table",
    "--bin=graph500_plain",
    "--bin=graph500_petgraph",
];

/// Where they are.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) rpc_bench: PathBuf,
    pub(super) graph500: PathBuf,
    pub(super) hydra: PathBuf,
    /// The launcher of nodes.
    pub(super) gossamer: PathBuf,
    /// The program that measures what requests are compared with.
    pub(super) table: PathBuf,
    pub(super) graph500_plain: PathBuf,
    pub(super) graph500_petgraph: PathBuf,
}

impl Programs {
    /// Builds them.
    ///
    /// # Errors
    /// One cannot be built.
    pub(super) fn build() -> Result<Self> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(ARGUMENTS).args(["--message-format", "json-render-diagnostics"]);
        let built = cargo.stderr(Stdio::inherit()).output().context("cargo")?;
        if !built.status.success() {
            return Err(Failure::new("cargo cannot build what is to be measured (see above)"));
        }
        let mut found: BTreeMap<String, PathBuf> =
            executables(&String::from_utf8_lossy(&built.stdout), false).collect();
        let mut take =
            |name: &str| found.remove(name).ok_or_else(|| Failure::new(format!("cargo has built no {name}")));
        Ok(Self {
            rpc_bench: take("rpc_bench")?,
            graph500: take("graph500")?,
            hydra: take("hydra")?,
            gossamer: take("gossamer")?,
            table: take("table")?,
            graph500_plain: take("graph500_plain")?,
            graph500_petgraph: take("graph500_petgraph")?,
        })
    }
}
