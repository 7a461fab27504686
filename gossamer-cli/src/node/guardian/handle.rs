//! The host's side of a guardian: starts it, passes signals on, and ends what is left after one that was killed.

use crate::exit::Failure;
use crate::node::allowance::Allowance;
use crate::node::ending::How;
use crate::node::guardian::cgroup::{self, Cgroup};
use crate::node::guardian::controllers;
use crate::node::guardian::descendants;
use crate::node::guardian::failure::{lacking, unlimited};
use crate::node::guardian::process::NAME;
use crate::node::guardian::protocol::{News, NodeFiles, NodeOrder, send_order};
use crate::node::invocation::{Invocation, NodeSpec, User};
use crate::processes::children;
use crate::secure::codec::decode;
use crate::secure::random;
use rustix::process::{Pid, Signal};
use std::collections::HashSet;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// How long a guardian may take to read its order.
const PATIENCE: Duration = Duration::from_secs(5);

/// The children of this process that are not orphans to be killed: guardians, and the children that it had before it
/// became a host. Nothing before that.
static KNOWN: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// Where the cgroups of nodes are made, or why there are none.
#[derive(Debug)]
pub struct Containment(Result<PathBuf, String>);

/// A node's guardian, as long as this is not dropped.
#[derive(Debug)]
pub struct Guardian {
    process: Child,
    to: OwnedWriteHalf,
    cgroup: Option<Cgroup>,
}

/// A guardian that was just started.
#[derive(Debug)]
pub struct Guarded {
    /// The guardian.
    pub guardian: Guardian,
    /// Its reports about the node.
    pub news: OwnedReadHalf,
    /// The ends of the node's pipes that stay here.
    pub pipes: NodePipes,
}

/// The ends of a node's pipes that stay here.
#[derive(Debug)]
pub struct NodePipes {
    /// The way to the node's standard input, if it is node 0.
    pub input: Option<PipeWriter>,
    /// Its standard output.
    pub out: PipeReader,
    /// Its standard error.
    pub err: PipeReader,
    /// Where it writes its report.
    pub report: PipeReader,
}

fn known() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Containment {
    /// Gets this process ready for nodes; from now on the orphans of killed guardians become its children.
    #[must_use]
    pub fn of_host() -> Self {
        let own = rustix::process::getpid();
        known().get_or_insert_with(|| children(own).into_iter().collect());
        // Before Linux 3.4 there were no subreapers, nor most other things that are needed.
        let _ = rustix::process::set_child_subreaper(Some(own));
        Self(cgroup::own())
    }

    /// What it is, as the end of a sentence.
    #[must_use]
    pub fn description(&self) -> String {
        let tried = self.0.as_ref().map_err(Clone::clone).and_then(|parent| {
            let made = Cgroup::make(parent, &format!("gossamer-probe-{}", std::process::id()));
            let made = made.map_err(|error| format!("{}: {error}", parent.display()))?;
            made.remove();
            Ok(parent)
        });
        match tried {
            Ok(parent) => format!("guardians and cgroups below {}", parent.display()),
            Err(why) => format!("guardians; not by cgroups: {why}"),
        }
    }

    /// A cgroup for a node that may use this much; none if none can be made and nothing is limited.
    ///
    /// # Errors
    /// Why a limit cannot be kept, as a clause.
    fn cgroup(&self, allowance: &Allowance) -> Result<Option<Cgroup>, String> {
        match self.limited(allowance) {
            Err(_) if allowance.is_all() => Ok(None),
            made => made.map(Some),
        }
    }

    fn limited(&self, allowance: &Allowance) -> Result<Cgroup, String> {
        let parent = self.0.as_ref().map_err(Clone::clone)?;
        let name = random::hexadecimal::<8>().map_err(|failure| failure.message)?;
        controllers::enable(parent, allowance)?;
        let made = Cgroup::make(parent, &format!("gossamer-node-{name}"));
        let made = made.map_err(|error| format!("no cgroup below {}: {error}", parent.display()))?;
        match controllers::limit(made.path(), allowance) {
            Ok(()) => Ok(made),
            Err(why) => {
                made.remove();
                Err(why)
            }
        }
    }
}

impl Guarded {
    /// Starts a guardian, and tells it what to start.
    ///
    /// # Errors
    /// If the machine lacks something.
    pub fn start(program: &Invocation, node: NodeSpec, containment: &Containment) -> Result<Self, Failure> {
        let index = node.index;
        let cgroup = containment.cgroup(&program.allowance).map_err(|why| unlimited(index, &why))?;
        Self::try_start(program, node, cgroup)
            .map_err(|error| lacking(index, format_args!("no guardian for it: {error}")))
    }

    fn try_start(program: &Invocation, node: NodeSpec, cgroup: Option<Cgroup>) -> io::Result<Self> {
        let NodeSpec { index, variables, listener } = node;
        let user = program.user.as_ref();
        let ((report, report_end), (out, out_end), (err, err_end)) = (pipe(user)?, pipe(user)?, pipe(user)?);
        let (input_end, input) = (index == 0).then(|| pipe(user)).transpose()?.unzip();
        let files = NodeFiles {
            input: input_end.map(OwnedFd::from),
            out: out_end.into(),
            err: err_end.into(),
            report: report_end.into(),
            listener,
        };
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let process = start_process(index, theirs, cgroup.as_ref())?;
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let sent = send_order(&ours, program, &NodeOrder::new(variables, &files), &files);
        ours.set_nonblocking(true)?;
        let (news, to) = tokio::net::UnixStream::from_std(ours)?.into_split();
        let guardian = Guardian { process, to, cgroup: cgroup.clone() };
        if let Err(error) = sent {
            // It has started nothing yet.
            guardian.kill();
            guardian.wait(&mut Orphans::default());
            if let Some(cgroup) = cgroup {
                cgroup.remove();
            }
            return Err(error);
        }
        Ok(Self { guardian, news, pipes: NodePipes { input, out, err, report } })
    }
}

/// Starts a guardian: this program, in a process group of its own, which a terminal's signals do not reach.
fn start_process(index: u32, host: UnixStream, cgroup: Option<&Cgroup>) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(NAME).arg(index.to_string()).args(cgroup.map(Cgroup::path)).process_group(0);
    command.stdin(OwnedFd::from(host)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut known = known();
    let process = command.spawn()?;
    known.get_or_insert_default().extend(number(&process));
    Ok(process)
}

fn number(process: &Child) -> Option<Pid> {
    Pid::from_raw(process.id().cast_signed())
}

/// A pipe that belongs to the user of the node: only then can the node open it anew, as `/dev/stdout` or by its number
/// in `/proc/self/fd`.
fn pipe(user: Option<&User>) -> io::Result<(PipeReader, PipeWriter)> {
    let (from, to) = io::pipe()?;
    if let Some(User { user, group, .. }) = user {
        rustix::fs::fchown(&to, Some(*user), Some(*group))?;
    }
    Ok((from, to))
}

impl Guardian {
    /// Sends a signal to the group of the node, through its guardian.
    pub fn signal(&self, signal: Signal) {
        let Ok(number) = u8::try_from(signal.as_raw()) else { return };
        // It fails if the guardian is gone, which soon becomes known.
        let _ = self.to.try_write(&[number]);
        if signal == Signal::KILL {
            self.wake();
        }
    }

    /// Lets the guardian go on if somebody has stopped it.
    pub fn wake(&self) {
        self.send(Signal::CONT);
    }

    /// Kills the guardian, which does not end by itself: everything below it becomes an orphan.
    pub fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// Signals the guardian. Its number is its own until it is waited for.
    fn send(&self, signal: Signal) {
        let _ = number(&self.process).map(|process| rustix::process::kill_process(process, signal));
    }

    /// Waits for the end of a guardian that has closed its socket. If the guardian was killed, returns how; what it
    /// left behind is then among the orphans.
    pub fn wait(mut self, orphans: &mut Orphans) -> Option<String> {
        let mut known = known();
        let ended = self.process.wait();
        if let (Some(known), Some(number)) = (known.as_mut(), number(&self.process)) {
            known.remove(&number);
        }
        let how = match ended {
            Ok(status) if status.success() => return None,
            Ok(status) => How::of(status).sentence(),
            Err(error) => format!("ended; the kernel does not say how: {error}"),
        };
        orphans.are_there = true;
        orphans.cgroups.extend(self.cgroup);
        Some(format!("its guardian, process {}, {how}", self.process.id()))
    }
}

/// What killed guardians have left behind.
#[derive(Debug, Default)]
pub struct Orphans {
    are_there: bool,
    cgroups: Vec<Cgroup>,
}

impl Orphans {
    /// Whether there may be orphans.
    #[must_use]
    pub fn are_there(&self) -> bool {
        self.are_there
    }

    /// Kills them. To be repeated as long as there are any.
    pub fn end(&mut self) {
        self.cgroups.iter().for_each(Cgroup::kill);
        // No guardian is started meanwhile.
        let known = known();
        let were_there = known.as_ref().is_some_and(|known| descendants::end(known, |_, _| {}));
        self.cgroups.retain(|cgroup| !cgroup.remove());
        self.are_there = were_there || !self.cgroups.is_empty();
    }
}

/// The next news of a node; nothing once its guardian is gone.
pub async fn next_news(from: &mut OwnedReadHalf) -> Option<News> {
    let mut bytes = vec![0; from.read_u8().await.ok()?.into()];
    from.read_exact(&mut bytes).await.ok()?;
    decode(&bytes).ok()
}
