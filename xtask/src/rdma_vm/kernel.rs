//! The kernel of the machine, and its modules.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::archive::Archive;
use crate::rdma_vm::loader::Loader;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The modules of the machine, besides those that these need. RDMA over Ethernet asks for its checksum by name.
pub(crate) const MODULES: [&str; 8] =
    ["virtio_pci", "virtio_net", "dummy", "veth", "crc32_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe"];

/// The first bytes of a file compressed by xz.
const XZ: &[u8] = b"\xfd7zXZ\0";

/// The decompressed kernel, taken from the one in the packages. QEMU starts it at once, while a compressed kernel takes
/// seconds to decompress itself. A kernel with another compression is returned as it is.
///
/// # Errors
/// There is none, or it is damaged.
pub(crate) fn decompressed(loader: &Loader, root: &Path, version: &str) -> Result<Vec<u8>> {
    let path = root.join("boot").join(format!("vmlinuz-{version}"));
    let image = fs::read(&path).at(&path)?;
    match payload(&image) {
        Some(payload) if payload.starts_with(XZ) => decompress(loader, payload.to_vec()),
        _ => Ok(image),
    }
}

/// What the image of a kernel decompresses when it starts, by its header (Linux, `Documentation/arch/x86/boot.rst`).
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let setup_sectors = usize::from(*image.get(0x1f1)?);
    let start = (setup_sectors + 1) * 512 + number(0x248)?;
    image.get(start..)?.get(..number(0x24c)?)
}

fn decompress(loader: &Loader, payload: Vec<u8>) -> Result<Vec<u8>> {
    let mut xz = loader.command("usr/bin/xz")?;
    xz.args(["--decompress", "--stdout"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = xz.spawn().context("xz")?;
    let input = child.stdin.take();
    // The size of the decompressed kernel comes after the compressed one: xz complains about it.
    let writer = std::thread::spawn(move || input.map(|mut input| input.write_all(&payload)));
    let output = child.wait_with_output().context("xz")?.stdout;
    let _complained = writer.join();
    if output.starts_with(b"\x7fELF") { Ok(output) } else { Err(Failure::new("xz: this is no kernel")) }
}

/// The version of the kernel in the packages.
///
/// # Errors
/// There is none.
pub(crate) fn version(root: &Path) -> Result<String> {
    let folder = root.join("lib/modules");
    let mut found = fs::read_dir(&folder).at(&folder)?;
    let first = found.next().ok_or_else(|| Failure::new("no package has a kernel"))?.at(&folder)?;
    Ok(first.file_name().to_string_lossy().into_owned())
}

/// Adds the modules that are needed, and the list from which `modprobe` knows them.
///
/// # Errors
/// There is no such module.
pub(crate) fn add_modules(archive: &mut Archive, loader: &Loader, root: &Path, version: &str) -> Result<()> {
    let busybox = loader.find("bin/busybox")?;
    let status = Command::new(&busybox).arg("depmod").arg("-b").arg(root).arg(version).status();
    if !status.context("depmod")?.success() {
        return Err(Failure::new("depmod has failed"));
    }
    let folder = root.join("lib/modules").join(version);
    let list = fs::read_to_string(folder.join("modules.dep")).at(&folder)?;
    let dependencies = Dependencies::new(&list);
    let mut needed = BTreeSet::new();
    for module in MODULES {
        if !dependencies.collect(module, &mut needed) {
            return Err(Failure::new(format!("the kernel {version} has no module {module}")));
        }
    }
    let target = format!("lib/modules/{version}");
    let mut short = String::new();
    for line in list.lines().filter(|line| needed.contains(line.split(':').next().unwrap_or(line))) {
        short.push_str(line);
        short.push('\n');
    }
    archive.file(&format!("{target}/modules.dep"), 0o644, short.as_bytes());
    for module in needed {
        let path = folder.join(module);
        archive.file(&format!("{target}/{module}"), 0o644, &fs::read(&path).at(&path)?);
    }
    Ok(())
}

/// Which module needs which others: a list of lines `path: path …`.
struct Dependencies<'a>(BTreeMap<String, (&'a str, Vec<&'a str>)>);

impl<'a> Dependencies<'a> {
    fn new(list: &'a str) -> Self {
        let lines = list.lines().filter_map(|line| line.split_once(':'));
        Self(lines.map(|(path, needs)| (name(path), (path, needs.split_whitespace().collect()))).collect())
    }

    /// Collects the paths of a module and of everything that it needs. Returns whether the module exists.
    fn collect(&self, module: &str, into: &mut BTreeSet<&'a str>) -> bool {
        let Some((path, needs)) = self.0.get(&name(module)) else { return false };
        !into.insert(path) || needs.iter().all(|needed| self.collect(needed, into))
    }
}

/// The name of a module, from its path.
fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_brings_along_all_that_it_needs() {
        let list = "a/rdma_rxe.ko: b/ib-core.ko c/tunnel.ko\nb/ib-core.ko: d/base.ko.xz\nc/tunnel.ko:\n\
                    d/base.ko.xz:\ne/other.ko: d/base.ko.xz\n";
        let dependencies = Dependencies::new(list);
        let mut found = BTreeSet::new();
        assert!(dependencies.collect("rdma_rxe", &mut found));
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["a/rdma_rxe.ko", "b/ib-core.ko", "c/tunnel.ko", "d/base.ko.xz"]
        );
        assert!(!dependencies.collect("absent", &mut BTreeSet::new()));
    }

    #[test]
    fn the_payload_of_a_kernel_is_found_by_its_header() {
        let mut image = vec![0; 2048];
        image[0x1f1] = 1;
        image[0x248..0x24c].copy_from_slice(&256_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&6_u32.to_le_bytes());
        image[1280..1286].copy_from_slice(XZ);
        assert_eq!(payload(&image), Some(XZ));
        assert_eq!(payload(&image[..512]), None);
    }
}
