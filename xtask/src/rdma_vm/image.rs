//! What all machines start from: a kernel, and a file system with the tools of RDMA. Made once and kept in the user's cache.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::archive::Archive;
use crate::rdma_vm::loader::{LIBRARIES, Loader};
use crate::rdma_vm::{kernel, packages};
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed in the machine, with everything that it needs; and `xz-utils`, to unpack its kernel.
const PACKAGES: [&str; 8] = [
    "linux-image-amd64",
    "busybox-static",
    "dash",
    "iproute2",
    "perftest",
    "ibverbs-utils",
    "ibverbs-providers",
    "xz-utils",
];
/// Also downloaded where QEMU is not installed.
const QEMU_PACKAGE: &str = "qemu-system-x86";
const QEMU: &str = "qemu-system-x86_64";

/// The machine's programs, besides those of busybox.
const PROGRAMS: [&str; 12] = [
    "bin/ip",
    "bin/rdma",
    "usr/bin/ibv_devices",
    "usr/bin/ibv_devinfo",
    "usr/bin/ibv_rc_pingpong",
    "usr/bin/ib_write_lat",
    "usr/bin/ib_write_bw",
    "usr/bin/ib_send_lat",
    "usr/bin/ib_send_bw",
    "usr/bin/ib_read_lat",
    "usr/bin/ib_read_bw",
    "usr/bin/ib_atomic_lat",
];
/// Libraries that programs load at run time, which the loader cannot know of: the first is loaded by `pthread_exit`.
const LOADED: [&str; 2] = ["libgcc_s.so.1", "libibverbs.so.1"];
/// The provider of RDMA over Ethernet in software; its name ends with the version of the ABI.
const PROVIDER: &str = "librxe-rdmav";

/// An image on disk.
pub(crate) struct Image {
    folder: PathBuf,
}

impl Image {
    /// The image that exists already, or one that is made now.
    ///
    /// # Errors
    /// It cannot be made: why, and what to do.
    pub(crate) fn get() -> Result<Self> {
        let image = Self { folder: cache()?.join(recipe()) };
        if image.is_whole() { Ok(image) } else { Self::make(image, false).map_err(Failure::without_machine) }
    }

    /// An image that is made now, from the newest packages.
    ///
    /// # Errors
    /// As `get`.
    pub(crate) fn prepare() -> Result<Self> {
        Self::make(Self { folder: cache()?.join(recipe()) }, true).map_err(Failure::without_machine)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kernel(&self) -> PathBuf {
        self.folder.join("kernel")
    }

    /// The archive of the file system.
    pub(crate) fn file_system(&self) -> PathBuf {
        self.folder.join("file-system")
    }

    /// The loader that finds the libraries of its programs.
    pub(crate) fn loader(&self) -> Loader {
        Loader::new(&self.root())
    }

    /// The names of the libraries that the file system has.
    ///
    /// # Errors
    /// The image is damaged.
    pub(crate) fn libraries(&self) -> Result<BTreeSet<String>> {
        let path = self.folder.join("libraries");
        Ok(fs::read_to_string(&path).at(&path)?.lines().map(str::to_owned).collect())
    }

    /// QEMU: the installed one, or the one from the packages.
    ///
    /// # Errors
    /// There is neither.
    pub(crate) fn qemu(&self) -> Result<Command> {
        if has_qemu() {
            return Ok(Command::new(QEMU));
        }
        let mut qemu = self.loader().command(&format!("usr/bin/{QEMU}"))?;
        let share = self.root().join("usr/share");
        qemu.arg("-L").arg(share.join("qemu")).arg("-L").arg(share.join("seabios"));
        qemu.env("QEMU_MODULE_DIR", self.root().join(LIBRARIES[1]).join("qemu"));
        Ok(qemu)
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn is_whole(&self) -> bool {
        self.folder.join("packages").exists()
    }

    /// Makes the image, unless somebody else has done so meanwhile.
    fn make(image: Self, anew: bool) -> Result<Self> {
        let cache = cache()?;
        fs::create_dir_all(&cache).at(&cache)?;
        let lock = cache.join("lock");
        let lock = File::create(&lock).at(&lock)?;
        lock.lock().context("the cache cannot be locked")?;
        if image.is_whole() && !anew {
            return Ok(image);
        }
        let partial = Self { folder: cache.join("partial") };
        remove(&partial.folder)?;
        eprintln!("making the RDMA machine from Debian packages, in {}", image.folder.display());
        partial.build()?;
        remove(&image.folder)?;
        fs::rename(&partial.folder, &image.folder).at(&image.folder)?;
        Ok(image)
    }

    fn build(&self) -> Result<()> {
        let root = self.root();
        fs::create_dir_all(&root).at(&root)?;
        let mut wanted = PACKAGES.to_vec();
        if !has_qemu() {
            wanted.push(QEMU_PACKAGE);
        }
        let names = packages::unpack(&wanted, &root)?;
        let (loader, version) = (self.loader(), kernel::version(&root)?);
        self.write("kernel", &kernel::decompressed(&loader, &root, &version)?)?;
        let mut archive = Archive::default();
        kernel::add_modules(&mut archive, &loader, &root, &version)?;
        let libraries = add_programs(&mut archive, &loader)?;
        self.write("file-system", &archive.finish())?;
        self.write("libraries", libraries.into_iter().collect::<Vec<_>>().join("\n").as_bytes())?;
        // It is large, and no longer used.
        remove(&root.join("lib/modules"))?;
        remove(&root.join("boot"))?;
        self.write("packages", names.join("\n").as_bytes())
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, contents).at(&path)
    }
}

/// Adds the programs and their libraries. Returns the names of the libraries.
fn add_programs(archive: &mut Archive, loader: &Loader) -> Result<BTreeSet<String>> {
    for folder in
        ["dev", "etc", "job", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr/sbin", "var"]
    {
        archive.folder(folder);
    }
    archive.file("etc/passwd", 0o644, b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n");
    archive.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
    archive.file("etc/hosts", 0o644, b"127.0.0.1 localhost\n");
    archive.file("etc/modules", 0o644, kernel::MODULES.join("\n").as_bytes());
    archive.file("etc/libibverbs.d/rxe.driver", 0o644, b"driver rxe\n");
    let mut files = vec![("bin/busybox".to_owned(), loader.find("bin/busybox")?)];
    // busybox would run its own `ip` in place of the one that knows RDMA devices.
    files.push(("bin/sh".to_owned(), loader.find("bin/dash")?));
    for program in PROGRAMS {
        files.push((program.to_owned(), loader.find(program)?));
    }
    for library in LOADED {
        let found = LIBRARIES.iter().map(|folder| loader.find(&format!("{folder}/{library}")));
        let found = found.reduce(Result::or).unwrap_or_else(|| Err(Failure::new(library)))?;
        files.push((in_machine(library), found));
    }
    let providers = loader.find(&format!("{}/libibverbs", LIBRARIES[1]))?;
    for entry in fs::read_dir(&providers).at(&providers)? {
        let name = entry.at(&providers)?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PROVIDER) {
            files.push((in_machine(&format!("libibverbs/{name}")), providers.join(name)));
        }
    }
    let mut libraries = BTreeSet::new();
    for (target, source) in files {
        archive.file(&target, 0o755, &fs::read(&source).at(&source)?);
        libraries.extend(file_name(&target));
        for needed in loader.libraries(&source)? {
            if let Some(name) =
                file_name(&needed.to_string_lossy()).filter(|name| libraries.insert(name.clone()))
            {
                archive.file(&in_machine(&name), 0o755, &fs::read(&needed).at(&needed)?);
            }
        }
    }
    let interpreter = loader.loader()?;
    archive.file("lib64/ld-linux-x86-64.so.2", 0o755, &fs::read(&interpreter).at(&interpreter)?);
    Ok(libraries)
}

/// Where a library is in the machine.
pub(crate) fn in_machine(library: &str) -> String {
    format!("{}/{library}", LIBRARIES[1])
}

fn file_name(path: &str) -> Option<String> {
    path.rsplit('/').next().map(str::to_owned)
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> Result<()> {
    if folder.exists() { fs::remove_dir_all(folder).at(folder) } else { Ok(()) }
}

fn has_qemu() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(QEMU).is_file())
}

/// The user's cache folder.
fn cache() -> Result<PathBuf> {
    let own = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = own.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    let base = base.ok_or_else(|| Failure::new("neither XDG_CACHE_HOME nor HOME is set"))?;
    Ok(base.join("gossamer").join("rdma-vm"))
}

/// A name for what an image is made from: it changes if this file does, or if QEMU comes from elsewhere.
fn recipe() -> String {
    let mut hasher = DefaultHasher::new();
    (kernel::MODULES, has_qemu(), include_str!("image.rs")).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
