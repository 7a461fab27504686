//! Open MPI: requests and answers as messages between two processes, with a program in C that is compiled when it is
//! needed.

use super::output;
use crate::measure::{Sample, Setting, Way};
use std::process::Command;

const SOURCE: &str = include_str!("mpi.c");

/// As many requests in flight as the setting says. Panics if it fails.
pub fn mpi(setting: &Setting) -> Sample {
    compiled_and_run(setting).unwrap_or_else(|error| panic!("mpi: {error}"))
}

fn compiled_and_run(setting: &Setting) -> Result<Sample, String> {
    let directory = std::env::temp_dir().join(format!("gossamer-table-mpi-{}", std::process::id()));
    std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
    let (source, program) = (directory.join("mpi.c"), directory.join("mpi"));
    let outcome = std::fs::write(&source, SOURCE).map_err(|error| error.to_string()).and_then(|()| {
        output(Command::new("mpicc").arg("-O2").arg("-o").arg(&program).arg(&source))?;
        output(launcher(setting).arg(&program).args([
            setting.bytes.to_string(),
            setting.parallel.to_string(),
            setting.budget.as_secs_f64().to_string(),
        ]))
    });
    let _ = std::fs::remove_dir_all(&directory);
    let text = outcome?;
    let mut fields = text.split_whitespace().map(str::parse::<f64>);
    match (fields.next(), fields.next()) {
        (Some(Ok(operations)), Some(Ok(seconds))) => Ok(Sample::new(operations as u64, seconds, f64::NAN)),
        _ => Err(format!("said {text:?}")),
    }
}

fn launcher(setting: &Setting) -> Command {
    let mut command = Command::new("mpirun");
    let transport = if setting.way == Way::Tcp { "self,tcp" } else { "self,vader" };
    command.args(["--allow-run-as-root", "--bind-to", "core", "-np", "2"]);
    command.args(["--mca", "pml", "ob1", "--mca", "btl", transport]);
    if setting.way == Way::Tcp {
        command.args(["--mca", "btl_tcp_if_include", "lo"]);
    }
    command
}
