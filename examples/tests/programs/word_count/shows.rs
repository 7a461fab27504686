//! The progress is shown where somebody can see it.

use super::{file, text_of_this_machine, word_count};
use crate::child::{Ended, command, run};
use std::process::Stdio;

/// Runs a shell command on a terminal of its own, with `$0` for the program and `$1` for a file of four words. Returns
/// what is shown.
fn on_a_terminal(shell: &str) -> Ended {
    let path = file("shows", "text", b"a word or two");
    let line = shell.replace("$0", env!("CARGO_BIN_EXE_word_count")).replace("$1", path.to_str().unwrap());
    // `script` may lose what is written just before the end.
    let line = format!("{line}; status=$?; sleep 0.2; exit $status");
    let mut command = command("script");
    // `script` is in bsdutils, which every Debian has. `TERM` says what the terminal can do.
    run(command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("TERM", "xterm"))
}

const COUNTS: &str = "      1 a\r\n      1 or\r\n      1 two\r\n      1 word\r\n";

#[test]
fn on_a_terminal_the_progress_is_shown_and_then_removed() {
    for input in ["$1", "$1 $1 -t 1", "- < $1"] {
        let ended = on_a_terminal(&format!("$0 {input}"));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let shown = ended.text();
        assert!(shown.contains(" B, ") || shown.contains(" B of "), "no progress of {input}: {shown:?}");
        let (_progress, counts) = shown.rsplit_once("\x1b[2K").expect("the line of the progress is removed");
        assert_eq!(counts.replace("2 ", "1 "), COUNTS, "after the progress of {input}");
    }
}

#[test]
fn the_progress_does_not_go_into_a_file() {
    let output = file("shows", "output", b"");
    let ended = on_a_terminal(&format!("$0 $1 > {}", output.display()));
    assert!(ended.text().contains(" B of "), "it is shown while the counts go into a file: {ended:?}");
    assert_eq!(std::fs::read_to_string(output).unwrap(), COUNTS.replace('\r', ""));
    assert_eq!(on_a_terminal("$0 $1 2> /dev/null").text(), COUNTS);
}

#[test]
fn there_is_no_progress_in_a_pipe() {
    assert_eq!(on_a_terminal("$0 $1 | cat").text(), COUNTS);
    // Neither output nor errors are a terminal here.
    run(word_count(["-n1"]).args(text_of_this_machine())).well();
}

#[test]
fn errors_are_shown_below_the_progress() {
    let ended = on_a_terminal("$0 --keep-going $1 no_such_file");
    let (_progress, rest) = ended.text().rsplit_once("\x1b[2K").expect("the line of the progress is removed");
    assert_eq!(rest, format!("word_count: no_such_file: No such file or directory (os error 2)\r\n{COUNTS}"));
    assert_eq!(ended.status, Some(1));
}

#[test]
fn the_help_tells_what_a_word_is_and_fits_on_a_terminal() {
    let help = run(word_count(["--help"]).stdin(Stdio::null())).well();
    let help = String::from_utf8(help).unwrap();
    for told in ["A word is", "Usage:", "--keep-going", "--top", "--threads", "standard input", "Exit status"]
    {
        assert!(help.contains(told), "the help says nothing of {told}:\n{help}");
    }
    let longest = help.lines().map(str::len).max();
    assert!(longest <= Some(80), "a line of {longest:?} bytes:\n{help}");
}
