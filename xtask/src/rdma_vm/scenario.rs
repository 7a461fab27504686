//! What is tested in the machine: each scenario is a script in `xtask/scenarios`, run in a machine of its own.

use crate::failure::{Failure, Result};
use crate::rdma_vm::job::Job;
use crate::rdma_vm::programs::{Program, Programs};
use crate::rdma_vm::session::Session;

/// A test in the machine.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What it shows, in one line.
    pub(crate) about: &'static str,
    pub(crate) script: &'static str,
    /// The script of a second machine, if there is one.
    pub(crate) peer: Option<&'static str>,
    /// What to build for it, and to put into `/job`.
    pub(crate) programs: &'static [Program],
    /// The exit status that it should have.
    pub(crate) status: u8,
}

/// Functions for scripts, as `/job/common.sh`.
const COMMON: &str = include_str!("../../scenarios/common.sh");

const GOSSAMER: Program = Program::Binary("gossamer-cli", "gossamer");
const RACK_PROGRAM: Program = Program::Binary("integration-tests", "rack_program");
const WORD_COUNT: Program = Program::Binary("examples", "word_count");
const LIBRARY_TESTS: &[Program] = &[Program::LibraryTests("gossamer")];

pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "machine",
        about: "perftest, several devices, a port that goes down, a device that is removed: what other scenarios build upon",
        script: include_str!("../../scenarios/machine.sh"),
        peer: None,
        programs: &[],
        status: 0,
    },
    Scenario {
        name: "verbs",
        about: "the library's own tests of verbs over the kernel's device; no write finds no receive",
        script: include_str!("../../scenarios/verbs.sh"),
        peer: None,
        programs: LIBRARY_TESTS,
        status: 0,
    },
    Scenario {
        name: "absent",
        about: "without a library, a device, a permission or enough memory that can be pinned it is told what is missing",
        script: include_str!("../../scenarios/absent.sh"),
        peer: None,
        programs: &[Program::LibraryTests("gossamer"), RACK_PROGRAM],
        status: 0,
    },
    Scenario {
        name: "nodes",
        about: "the tests of nodes, in one process and as processes, over the kernel's device",
        script: include_str!("../../scenarios/nodes.sh"),
        peer: None,
        programs: &[Program::Tests("integration-tests", "rack"), RACK_PROGRAM],
        status: 0,
    },
    Scenario {
        name: "streams",
        about: "tests of streams over the kernel's device, and a file, which goes by TCP",
        script: include_str!("../../scenarios/streams.sh"),
        peer: None,
        programs: &[Program::Tests("integration-tests", "stream"), GOSSAMER],
        status: 0,
    },
    Scenario {
        name: "word-count",
        about: "word_count on three nodes counts what it counts in one process, over shared memory and RDMA",
        script: include_str!("../../scenarios/word-count.sh"),
        peer: None,
        programs: &[WORD_COUNT, GOSSAMER],
        status: 0,
    },
    Scenario {
        name: "work",
        about: "packets, posts and calls of the kernel for each request",
        script: include_str!("../../scenarios/work.sh"),
        peer: None,
        programs: &[RACK_PROGRAM],
        status: 0,
    },
    Scenario {
        name: "trouble",
        about: "nodes joined by RDMA of which one is killed, whose port goes down, whose device is removed, or is another one",
        script: include_str!("../../scenarios/trouble.sh"),
        peer: None,
        programs: &[RACK_PROGRAM],
        status: 0,
    },
    Scenario {
        name: "limits",
        about: "`gossamer run --mem` and `--cpus`: cgroups of version 2, which machines with those of version 1 lack",
        script: include_str!("../../scenarios/limits.sh"),
        peer: None,
        programs: &[Program::Tests("gossamer-cli", "command"), GOSSAMER],
        status: 0,
    },
    Scenario {
        name: "two-nodes",
        about: "nodes on two machines use RDMA, or TCP where one has none, and end when the link is cut",
        script: include_str!("../../scenarios/two-nodes.sh"),
        peer: Some(include_str!("../../scenarios/two-nodes.sh")),
        programs: &[WORD_COUNT, RACK_PROGRAM],
        status: 0,
    },
    Scenario {
        name: "two-machines",
        about: "perftest between two machines, and the link between them cut",
        script: include_str!("../../scenarios/two-machines.sh"),
        peer: Some(include_str!("../../scenarios/two-machines.peer.sh")),
        programs: &[],
        status: 0,
    },
];

/// The scenarios of these names; without names, all of them.
///
/// # Errors
/// There is no such scenario.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let find = |name: &String| ALL.iter().find(|scenario| scenario.name == name);
    let known = || ALL.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ");
    let found = |name| {
        find(name).ok_or_else(|| Failure::new(format!("there is no scenario {name}, but {}", known())))
    };
    names.iter().map(found).collect()
}

impl Scenario {
    /// Runs it; its exit status.
    ///
    /// # Errors
    /// There is no machine, or it did not end in time.
    pub(crate) fn run(&self, session: &Session<'_>, programs: &Programs) -> Result<u8> {
        let job = self.job(session, programs, self.script)?;
        let peer = self.peer.map(|script| self.job(session, programs, script)).transpose()?;
        session.run(job, peer)
    }

    fn job(&self, session: &Session<'_>, programs: &Programs, script: &str) -> Result<Job> {
        let mut job = Job::new(session.image, script)?;
        job.add_text("common.sh", COMMON);
        // Tests look for programs where these were built.
        let mut paths = String::new();
        for program in self.programs {
            let path = programs
                .get(program)
                .ok_or_else(|| Failure::new(format!("{} is not built", program.name())))?;
            job.add_file(path, Some(&format!("job/{}", program.name())))?;
            paths.push_str(&format!("{} {}\n", program.name(), path.display()));
        }
        job.add_text("paths", &paths);
        Ok(job)
    }
}
