//! One machine: QEMU with a kernel and a file system, from start to end.

use crate::failure::{Context, Result};
use crate::rdma_vm::arguments::{Accelerator, MachineArguments};
use crate::rdma_vm::image::Image;
use crate::rdma_vm::job::Job;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// For the kernel: no interrupts to wait for where there is no device, no mitigations of attacks, and QEMU ends when
/// the kernel does; and the time is read from the processor, not from a device, since that is an exit from the machine.
const KERNEL: &str = "console=ttyS0 quiet loglevel=4 panic=-1 reboot=t rdinit=/init nokaslr mitigations=off no_timer_check \
                      tsc=reliable audit=0 random.trust_cpu=on";

/// Which of two machines, and what joins it to the other one.
pub(crate) struct Place {
    /// 1 or 2: the last part of its address.
    pub(crate) number: u8,
    pub(crate) link: Option<UnixStream>,
}

/// A running machine. It ends when this is dropped.
pub(crate) struct Guest {
    qemu: Child,
    output: Option<JoinHandle<io::Result<()>>>,
    /// QEMU opens it some time after its start.
    _file_system: File,
    /// The messages of its kernel and of QEMU, and the reports of its init: when the command began, how it ended.
    kernel: File,
    errors: File,
    report: File,
}

/// How a machine has ended.
pub(crate) struct Ending {
    /// The exit status of the command; nothing if the command did not finish.
    pub(crate) status: Option<u8>,
    /// Seconds from the start of the kernel to the start of the command.
    pub(crate) boot: Option<f64>,
    /// Whether QEMU was killed, for example by an assertion of its own.
    pub(crate) crashed: bool,
    /// The messages of kernel and QEMU.
    pub(crate) log: String,
}

impl Guest {
    /// Starts a machine. Its output goes to the output of this process; if it is one of two machines, with its number
    /// before each line.
    ///
    /// # Errors
    /// There is no QEMU, or no memory.
    pub(crate) fn start(image: &Image, job: Job, place: Place, machine: &MachineArguments) -> Result<Self> {
        let file_system = job.file_system(image)?;
        let [kernel, errors, report] = [memory_file()?, memory_file()?, memory_file()?];
        let mut qemu = dies_with_this_process(&image.qemu()?);
        qemu.args(hardware(machine));
        qemu.arg("-kernel").arg(image.kernel()).arg("-initrd").arg(path_of(&file_system));
        let peer = if place.link.is_some() { 3 - place.number } else { place.number };
        let addresses = format!("ADDRESS=10.9.0.{} PEER_ADDRESS=10.9.0.{peer}", place.number);
        qemu.arg("-append").arg(format!("{KERNEL} {addresses}"));
        for path in [&path_of(&kernel), "/proc/self/fd/1", &path_of(&report)] {
            qemu.arg("-serial").arg(format!("file:{path}"));
        }
        let mut prefix = String::new();
        if place.link.is_some() {
            prefix = format!("[{}] ", place.number);
            qemu.args(link_device(place.number));
        }
        qemu.stdin(place.link.map_or_else(Stdio::null, |link| OwnedFd::from(link).into()));
        qemu.stdout(Stdio::piped()).stderr(errors.try_clone().context("a file in memory")?);
        let mut qemu = qemu.spawn().context("QEMU cannot be started")?;
        let output = qemu.stdout.take().map(|output| std::thread::spawn(move || pass_on(output, &prefix)));
        Ok(Self { qemu, output, _file_system: file_system, kernel, errors, report })
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// If it is no longer a child of this process.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.qemu.try_wait().context("QEMU")?.is_some())
    }

    /// The messages of kernel and QEMU so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn log(&mut self) -> Result<String> {
        Ok(text(&mut self.errors)? + &text(&mut self.kernel)?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If its reports cannot be read.
    pub(crate) fn end(mut self) -> Result<Ending> {
        let qemu = self.qemu.wait().context("QEMU")?;
        if let Some(output) = self.output.take() {
            // If the reader of this process's output is gone, the status is returned all the same.
            let _written = output.join();
        }
        let report = text(&mut self.report)?;
        let told =
            |what: &str| report.lines().find_map(|line| line.strip_prefix(what)?.trim().parse::<f64>().ok());
        let log = self.log()?;
        Ok(Ending {
            status: told("status").map(|status| status as u8),
            boot: told("ready"),
            crashed: qemu.signal().is_some(),
            log,
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // In most cases it has ended already.
        let _ended = self.qemu.kill();
        let _status = self.qemu.wait();
    }
}

/// The machine itself: only what is used, since each device takes time at the start.
///
/// No device has registers in memory: while one processor moves such registers, as Linux does at its start, QEMU before
/// 8.1 takes a write of another processor for a write to another device (its commit 0d58c66), and crashes on an
/// assertion of that device, or goes on.
fn hardware(machine: &MachineArguments) -> Vec<String> {
    let accelerator: &[&str] = match machine.accelerator {
        Accelerator::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "max"],
        Accelerator::Kvm => &["-accel", "kvm", "-cpu", "host"],
    };
    let (processors, memory) = (machine.processors.to_string(), machine.memory.to_string());
    let mut arguments = accelerator.to_vec();
    arguments.extend([
        "-machine",
        "q35,usb=off,vmport=off,sata=off,smbus=off",
        "-smp",
        &processors,
        "-m",
        &memory,
    ]);
    arguments.extend(["-nodefaults", "-display", "none", "-no-reboot"]);
    arguments.into_iter().map(str::to_owned).collect()
}

/// A network device whose packets go over the standard input of QEMU.
fn link_device(number: u8) -> [String; 4] {
    let device = format!(
        "virtio-net-pci,netdev=link,mac=52:54:00:09:00:0{number},romfile=,disable-modern=on,vectors=0"
    );
    ["-netdev".to_owned(), "socket,id=link,fd=0".to_owned(), "-device".to_owned(), device]
}

/// A command that gets SIGKILL when this process ends, however it ends.
fn dies_with_this_process(command: &Command) -> Command {
    let mut guarded = Command::new("setpriv");
    guarded.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    command.get_envs().for_each(|(name, value)| {
        value.map(|value| guarded.env(name, value));
    });
    guarded
}

/// A file that disappears with this process.
fn memory_file() -> Result<File> {
    memfd_create("machine", MemfdFlags::CLOEXEC).map(File::from).context("a file in memory")
}

/// The path by which another process opens a file of this one.
fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Everything that other processes have written into a file.
fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    read.context("a file in memory")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Copies lines to the output of this process.
fn pass_on(from: ChildStdout, prefix: &str) -> io::Result<()> {
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    while from.read_until(b'\n', &mut line)? > 0 {
        let mut output = io::stdout().lock();
        output.write_all(prefix.as_bytes())?;
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
