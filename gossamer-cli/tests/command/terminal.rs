//! `gossamer top` in a terminal of `tmux`, which has a server of its own.

use crate::common::programs::Programs;
use crate::common::{eventually, finish, is_alive, signal, skipped};
use std::process::{Command, Stdio};

/// A terminal, until this is dropped.
struct Terminal {
    server: String,
}

impl Terminal {
    /// A terminal of this size, in which `gossamer top` looks at these programs.
    fn new(name: &str, (columns, rows): (u32, u32), programs: &Programs, options: &str) -> Option<Self> {
        let is_there = Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok();
        if !is_there {
            skipped("tmux is not installed, so top is tried at no terminal");
            return None;
        }
        let terminal = Self { server: format!("gossamer-{name}-{}", std::process::id()) };
        let processes: Vec<String> = programs.processes().iter().map(u32::to_string).collect();
        let script = format!(
            "echo before; {} top --interval 200ms {options} {}; echo status=$?; exec sleep 1000",
            env!("CARGO_BIN_EXE_gossamer"),
            processes.join(" ")
        );
        let directory = format!("XDG_RUNTIME_DIR={}", programs.directory().display());
        let size = [columns.to_string(), rows.to_string()];
        let session = ["new-session", "-d", "-x", &size[0], "-y", &size[1], "-e", &directory, &script];
        terminal.tmux(&session);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server, "-f", "/dev/null"]).args(arguments).env_remove("TMUX");
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(&mut command).ended_with(0).out.clone()
    }

    /// What is on the screen, once all of this is.
    #[track_caller]
    fn shows(&self, texts: &[&str]) -> String {
        let mut screen = String::new();
        eventually(&texts.join(", "), || {
            screen = self.tmux(&["capture-pane", "-p"]);
            texts.iter().all(|text| screen.contains(text))
        });
        screen
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// The process of `gossamer top`.
    fn process(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        std::fs::read_to_string(children).unwrap().split(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server, "kill-server"]).stderr(Stdio::null());
        let _gone = command.status();
    }
}

#[test]
fn a_small_terminal_has_all_parts_and_is_steered_by_keys_and_is_given_back() {
    let programs = Programs::new("terminal");
    let Some(_running) = programs.run("2", "shm", "repeat") else { return };
    programs.until_it_says(&["node 0 of 2, ", "node 1 of 2, "]);
    let Some(terminal) = Terminal::new("small", (80, 24), &programs, "") else { return };
    let all = ["nodes: 2, workers: 2", "MACHINE", "SERVED/S", "RECEIVED/S", "FOUND RUNNING", "shm", "q end"];
    let screen = terminal.shows(&all);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(!screen.contains("before"), "{screen}");
    terminal.press("s");
    terminal.shows(&["by busy"]);
    terminal.press("/");
    "rack_program.rs".chars().for_each(|key| terminal.press(&key.to_string()));
    terminal.press("Enter");
    let screen = terminal.shows(&["workers 0 of 0", "filter: rack_program.rs  q end"]);
    assert!(screen.lines().any(|line| line.contains(" %") && line.contains("rack_program.rs:")), "{screen}");
    terminal.press("Escape");
    terminal.shows(&["workers 1 to 2 of 2"]);
    terminal.press("Space");
    terminal.shows(&["PAUSED"]);
    terminal.press("Tab");
    terminal.shows(&["peers 1 to 2 of 2"]);
    terminal.press("q");
    let screen = terminal.shows(&["before", "status=0"]);
    assert!(!screen.contains("FOUND RUNNING"), "{screen}");
}

#[test]
fn many_workers_are_scrolled_and_signals_and_ends_give_the_terminal_back() {
    let programs = Programs::new("terminal-many");
    let Some(running) = programs.run_with("1", "64", "shm", &["sleep"]) else { return };
    programs.until_it_says(&["64 workers"]);
    let Some(terminal) = Terminal::new("low", (80, 24), &programs, "") else { return };
    terminal.shows(&["nodes: 1, workers: 64, by worker; workers 1 to ", " of 64"]);
    terminal.press("PageDown");
    terminal.shows(&["workers 11 to "]);
    terminal.press("C-c");
    terminal.shows(&["before", "status=0"]);
    let Some(terminal) = Terminal::new("high", (200, 60), &programs, "--sort fibers") else { return };
    terminal.shows(&["workers: 64, by fibers", "MACHINE", "WAITING", "P99"]);
    signal(terminal.process(), "TERM");
    terminal.shows(&["before", "status=143"]);
    let Some(terminal) = Terminal::new("gone", (80, 24), &programs, "") else { return };
    terminal.shows(&["workers: 64"]);
    let process = terminal.process();
    drop(terminal);
    eventually("it ends with its terminal", || !is_alive(process));
    let Some(terminal) = Terminal::new("ended", (80, 24), &programs, "") else { return };
    terminal.shows(&["workers: 64"]);
    drop(running);
    // It may have ended between two looks, or during one.
    terminal.shows(&["before", "gossamer: ", "status="]);
}
