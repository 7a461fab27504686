//! Debian packages, downloaded and unpacked as any user can: nothing is installed, and it does not matter what already
//! is.

use crate::failure::{Context, Failure, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Downloads packages with everything that they need, and unpacks them below a folder. Returns the names of the files,
/// which contain their versions.
///
/// # Errors
/// There is no apt, no network, or not such a package.
pub(crate) fn unpack(packages: &[&str], root: &Path) -> Result<Vec<String>> {
    let archives = root.with_extension("packages");
    fs::create_dir_all(archives.join("partial")).at(&archives)?;
    if !download(packages, &archives)? {
        eprintln!("apt-get does not know the packages: updating its lists");
        let updated = command("apt-get", Command::new("apt-get").args(["-q", "update"]))?;
        if !updated || !download(packages, &archives)? {
            return Err(Failure::new(format!(
                "the RDMA machine needs the packages {}, and apt-get cannot download them (see above)",
                packages.join(", ")
            )));
        }
    }
    let mut names = Vec::new();
    for file in files(&archives)? {
        let mut unpack = Command::new("dpkg");
        if !command("dpkg", unpack.arg("-x").args([&file, root]))? {
            return Err(Failure::new(format!("{} cannot be unpacked", file.display())));
        }
        names.extend(file.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    fs::remove_dir_all(&archives).at(&archives)?;
    names.sort();
    Ok(names)
}

/// The `.deb` files in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether all were downloaded. For this apt, nothing is installed, so it downloads everything that is needed.
fn download(packages: &[&str], archives: &Path) -> Result<bool> {
    let nothing = archives.join("installed");
    fs::write(&nothing, "").at(&nothing)?;
    let mut apt = Command::new("apt-get");
    apt.args(["-qq", "--yes", "--download-only", "--no-install-recommends"]);
    for (option, value) in [
        ("Dir::State::status", nothing.as_path()),
        ("Dir::Cache::archives", archives),
        ("Dir::Cache::pkgcache", &archives.join("packages.bin")),
        ("Dir::Cache::srcpkgcache", &archives.join("sources.bin")),
        ("Debug::NoLocking", Path::new("true")),
        // apt's own user could not write here.
        ("APT::Sandbox::User", Path::new("root")),
    ] {
        apt.arg("-o").arg(format!("{option}={}", value.display()));
    }
    command("apt-get", apt.arg("install").args(packages))
}

/// Runs a command of Debian. Returns whether it succeeded.
fn command(name: &str, command: &mut Command) -> Result<bool> {
    let status = command.status();
    let missing = format!("the RDMA machine is made of Debian packages, which takes `{name}`");
    status.map(|status| status.success()).context(missing)
}
