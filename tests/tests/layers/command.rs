//! The house rules of the command's source: which room imports which, and that a name means one type.

use crate::source::{File, Found};
use crate::vocabulary::ambiguous;
use crate::{assert_none, sources, workspace};

/// From the bottom up: a file imports from its own room and from those of lines above it.
const ROOMS: [&[&str]; 11] = [
    &["exit", "processes", "values"],
    &["terminal"],
    &["secure"],
    &["metrics"],
    &["node"],
    &["rack"],
    &["doctor"],
    &["program"],
    &["launcher", "daemon", "query", "files"],
    &["cli"],
    &["lib", "main"],
];

/// The rooms in `files`, likewise.
const FILES: [&[&str]; 7] = [
    &["reporter", "interruption"],
    &["content"],
    &["protocol"],
    &["pairing"],
    &["arguments"],
    &["sender", "receiver"],
    &["mod"],
];

fn command() -> Vec<File> {
    let files = sources(&workspace().join("gossamer-cli/src")).into_iter();
    let files: Vec<File> = files.map(|(name, text)| File::new(&name, text)).collect();
    assert!(files.len() > 50, "the command is where it was");
    files
}

fn height(rooms: &[&[&str]], room: &str) -> Option<usize> {
    rooms.iter().position(|line| line.contains(&room))
}

/// Whether one room may import from another; a file that is in no room may import nothing.
fn goes_downward(rooms: &[&[&str]], from: &str, to: &str) -> bool {
    from == to || height(rooms, from).zip(height(rooms, to)).is_some_and(|(from, to)| to < from)
}

/// The room within `files` of a path that begins with `rest`.
fn room_of(rest: &str) -> &str {
    let room = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    if room == "rs" { "mod" } else { room }
}

#[test]
fn rooms_of_the_command_import_downward_only() {
    let mut wrong = Vec::new();
    for file in command() {
        let (name, room) = (&file.name, file.layer());
        for found in file.found() {
            match found {
                Found::Crate(line, other) if !goes_downward(&ROOMS, room, &other) => wrong.push(format!(
                    "gossamer-cli/src/{name}:{line}: `{room}` imports `crate::{other}`: imports go downward only"
                )),
                Found::Super(line) => wrong.push(format!(
                    "gossamer-cli/src/{name}:{line}: `super` leaves the file: name the room, `crate::…`"
                )),
                _ => {}
            }
        }
        let Some(inner) = name.strip_prefix("files/") else { continue };
        for (at, line) in file.text.lines().enumerate() {
            for rest in line.split("crate::files::").skip(1) {
                let (from, to) = (room_of(inner), room_of(rest));
                if !goes_downward(&FILES, from, to) {
                    wrong.push(format!(
                        "gossamer-cli/src/{name}:{}: `{from}` imports `{to}`: imports go downward only",
                        at + 1
                    ));
                }
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn a_name_of_the_command_means_one_type() {
    let several = ambiguous(&command()).into_iter();
    assert_none(several.map(|(name, places)| format!("`{name}` is a type in {places:?}")).collect());
}
