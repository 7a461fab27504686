//! The command line itself: help, completions, manual pages, the key.

use crate::common::{Scratch, finish, gossamer};

const COMMANDS: [&str; 15] = [
    "run",
    "daemon",
    "ps",
    "kill",
    "logs",
    "status",
    "check-rdma",
    "send",
    "recv",
    "keygen",
    "completions",
    "man",
    "stacks",
    "top",
    "doctor",
];

#[test]
fn every_command_has_help() {
    let all = finish(&mut gossamer(&["--help"]));
    all.ended_with(0).was_quiet();
    for command in COMMANDS {
        assert!(all.out.contains(&format!("  {command} ")), "{command}: {}", all.out);
        let help = finish(&mut gossamer(&[command, "--help"]));
        assert!(help.ended_with(0).out.contains("Usage: gossamer"), "{help:?}");
        assert!(help.out.contains("\nExit status:\n  0 "), "{help:?}");
    }
    for command in ["run", "check-rdma", "send", "recv", "stacks", "top", "doctor"] {
        let help = finish(&mut gossamer(&[command, "--help"])).out;
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = finish(&mut gossamer(&["completions", shell]));
        let script = &script.ended_with(0).out;
        assert!(script.contains("keygen") && script.contains("check-rdma"), "{shell}");
        for option in [
            "fabric",
            "health",
            "log",
            "retry",
            "timeout",
            "report-on-timeout",
            "mem",
            "cpus",
            "output",
            "timestamps",
            "per-machine",
            "map",
        ] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
}

/// What bash and fish offer for a word at the end of a command line, if they are installed.
fn offered(shell: &str, line: &str, word: &str) -> Option<Vec<String>> {
    let scratch = Scratch::new("completions");
    let script = scratch.path("script");
    std::fs::write(&script, finish(&mut gossamer(&["completions", shell])).ended_with(0).out.clone())
        .unwrap();
    let (script, mut command) = (script.display(), std::process::Command::new(shell));
    let text = match shell {
        // Outside of an interactive shell, `compopt` has nothing to set and says so.
        "bash" => format!(
            "compopt() {{ :; }}; source {script}; COMP_WORDS=({line} \"$1\"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             _gossamer_words gossamer \"$1\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ),
        _ => format!("source {script}; complete -C '{line} {word}'"),
    };
    if shell == "bash" {
        command.args(["--norc", "-c", &text, "bash", word]);
    } else {
        command.args(["--no-config", "-c", &text]);
    }
    let Ok(output) = command.env("HOME", &scratch.0).current_dir(&scratch.0).output() else {
        eprintln!("\n!!! {shell} is not installed: its completions are not tried !!!\n");
        return None;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    let words = said.lines().filter_map(|line| line.split('\t').next()).filter(|word| !word.is_empty());
    Some(words.map(str::to_owned).collect())
}

#[test]
fn completions_offer_what_may_come_next() {
    for shell in ["bash", "fish"] {
        let offers = |line: &str, word: &str| {
            offered(shell, line, "").is_none_or(|words| words.iter().any(|offered| offered == word))
        };
        let offers_nothing = |line: &str| offered(shell, line, "").is_none_or(|words| words.is_empty());
        assert!(offers("gossamer", "check-rdma"), "{shell}");
        assert!(offers("gossamer help", "recv"), "{shell}");
        assert!(offers("gossamer completions", "fish"), "{shell}");
        assert!(offers("gossamer run --fabric", "shm"), "{shell}");
        // The program and what follows it are a command line of their own, with or without `--` before them.
        let fabric =
            |line: &str| offered(shell, line, "--fab").map(|words| words.contains(&"--fabric".to_owned()));
        for before in ["--local 2", "--map=a:2,b", "--map a:2,b --timestamps", "-n 2 --fabric tcp"] {
            let line = format!("gossamer run {before}");
            assert_ne!(fabric(&line), Some(false), "{shell}: {line}");
            let program = offered(shell, &line, "ca");
            assert!(program.is_none_or(|words| words.contains(&"cat".to_owned())), "{shell}: {line}");
            assert_ne!(fabric(&format!("{line} cat")), Some(true), "{shell}: {line}");
            assert_ne!(fabric(&format!("{line} -- cat")), Some(true), "{shell}: {line}");
        }
        assert!(offers("gossamer run --local 2 --", "cat"), "{shell}");
        // Neither an application nor a number is a file.
        assert!(offers_nothing("gossamer kill"), "{shell}");
        assert!(offers_nothing("gossamer run --local"), "{shell}");
        assert!(offers("gossamer daemon --config", "script"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::new("manual");
    finish(&mut gossamer(&["man", scratch.0.to_str().unwrap()])).ended_with(0);
    assert!(scratch.path("gossamer.1").exists());
    for command in COMMANDS {
        let page = std::fs::read_to_string(scratch.path(&format!("gossamer-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{command}");
    }
    let page = std::fs::read_to_string(scratch.path("gossamer-run.1")).unwrap();
    assert!(section(&page, "EXAMPLES").contains("\n.nf\ngossamer run --local 4"), "{page}");
    assert!(section(&page, "EXIT STATUS").contains("\n127  there is no such program"), "{page}");
    assert!(page.contains("\n\\&./produce"), "{page}");
    assert!(section(&page, "NOTES").contains("Ctrl-C") && !page.contains(".SH EXTRA"), "{page}");
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1 + COMMANDS.len());
    assert!(finish(&mut gossamer(&["man"])).ended_with(0).out.contains(".TH gossamer 1"));
    let refused = finish(&mut gossamer(&["man", "/no/such/directory"]));
    assert!(refused.ended_with(74).err.contains(" to /no/such/directory: No such file"), "{refused:?}");
}

/// The lines of a section of a manual page, without its fonts.
fn section(page: &str, title: &str) -> String {
    let text = page.split(".SH ").find(|section| section.starts_with(title)).unwrap();
    ["\\fB", "\\fI", "\\fR", "\\"].iter().fold(text.to_owned(), |text, mark| text.replace(mark, ""))
}

#[test]
fn a_synopsis_has_the_value_of_each_option_that_takes_one() {
    let scratch = Scratch::new("synopsis");
    finish(&mut gossamer(&["man", scratch.0.to_str().unwrap()])).ended_with(0);
    let mut options = 0;
    for command in COMMANDS {
        let page = std::fs::read_to_string(scratch.path(&format!("gossamer-{command}.1"))).unwrap();
        let synopsis = section(&page, "SYNOPSIS");
        for line in section(&page, "OPTIONS").lines().filter(|line| line.starts_with('-')) {
            let (names, value) = line.split_once(" <").unwrap_or((line, ""));
            let name = names.rsplit(", ").next().unwrap().split(' ').next().unwrap();
            let value = value.split_once('>').map_or(String::new(), |(value, _)| format!(" <{value}>"));
            assert!(
                synopsis.contains(&format!("{name}{value}]"))
                    || synopsis.contains(&format!("{name}{value} ")),
                "{name}{value}: {synopsis}"
            );
            options += usize::from(!value.is_empty());
        }
    }
    assert!(options > 15, "{options} options with values");
}

#[test]
fn keygen_says_where_the_key_is_but_not_what_it_is() {
    let scratch = Scratch::new("keygen");
    let path = scratch.path("key");
    let finished = finish(&mut gossamer(&["keygen", "--json", path.to_str().unwrap()]));
    let said: serde_json::Value = serde_json::from_str(&finished.ended_with(0).out).unwrap();
    assert_eq!(said["file"], path.to_str().unwrap());
    let key = std::fs::read_to_string(&path).unwrap();
    assert_eq!(key.trim().len(), 64);
    assert!(!finished.out.contains(key.trim()));
    finish(&mut gossamer(&["keygen", scratch.path("etc/key").to_str().unwrap()])).ended_with(0);
    finish(&mut gossamer(&["keygen", "/no/such/directory/key"])).ended_with(1).said("/no/such/directory/key");
}

#[test]
fn options_that_do_not_go_together_are_mistakes() {
    for arguments in
        [["--local", "2", "-n", "2"], ["--local", "2", "--hosts", "a"], ["--local", "2", "--config", "f"]]
    {
        let mut all = vec!["run"];
        all.extend(arguments);
        all.extend(["--", "true"]);
        finish(&mut gossamer(&all)).ended_with(2).said("cannot be used with");
    }
}
