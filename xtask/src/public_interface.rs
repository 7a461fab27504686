//! The public interface of the library as text, so that a review shows what a change does to it.
//!
//! It is made from rustdoc's description as JSON, whose format is not stable: the format of the compiler in
//! `rust-toolchain.toml` belongs to this version of the crate `public-api`, so both are raised together.

use crate::failure::{Context, Failure, Result};
use public_api::Builder;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Write down the public interface of the library, or compare it with what is written down
#[derive(Debug, clap::Args)]
pub(crate) struct PublicInterfaceArguments {
    /// Write nothing; fail if the interface differs from what is written down
    #[arg(long)]
    check: bool,
}

/// Where it is written down, from the root of the workspace.
const WRITTEN: &str = "docs/public-interface.txt";

/// It contains only items of the default features.
pub(crate) fn run(arguments: &PublicInterfaceArguments) -> Result<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let interface = Builder::from_rustdoc_json(described(&root)?)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .map_err(|error| Failure::new(format!("rustdoc's description cannot be read: {error}")))?;
    let now = interface.to_string();
    let path = root.join(WRITTEN);
    if !arguments.check {
        fs::write(&path, now).at(&path)?;
        return Ok(0);
    }
    let differences = differences(&fs::read_to_string(&path).at(&path)?, &now);
    if differences.is_empty() {
        return Ok(0);
    }
    Err(Failure::new(format!(
        "the public interface differs from {WRITTEN}:\n{differences}if that is intended, write it down: cargo xtask public-interface"
    )))
}

/// Makes rustdoc describe the library; returns the path of the description.
fn described(root: &Path) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let arguments = ["rustdoc", "--quiet", "--package", "gossamer", "--lib", "--", "-Z", "unstable-options"];
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .args(["--output-format", "json"])
        .env("RUSTDOC", root.join("xtask/unstable_rustdoc"))
        .current_dir(root)
        .status()
        .context("cargo rustdoc")?;
    match status.success() {
        true => Ok(target.join("doc/gossamer.json")),
        false => Err(Failure::new(format!("cargo rustdoc: {status}"))),
    }
}

/// Lines that are gone, and lines that are new.
fn differences(before: &str, now: &str) -> String {
    let [before, now]: [BTreeSet<&str>; 2] = [before, now].map(|text| text.lines().collect());
    let gone = before.difference(&now).map(|line| format!("- {line}\n"));
    gone.chain(now.difference(&before).map(|line| format!("+ {line}\n"))).collect()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_is_gone_and_what_is_new_is_told() {
        assert_eq!(differences("fn a()\nfn b()\n", "fn b()\nfn c()\n"), "- fn a()\n+ fn c()\n");
        assert_eq!(differences("fn a()\n", "fn a()\n"), "");
    }
}
