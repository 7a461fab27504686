//! Documents and what they refer to: every file, room and link that a document names exists.

use crate::{assert_none, document, workspace};
use std::fs;
use std::path::Path;

/// The folders from which a document may name a path, besides its own.
const ROOTS: [&str; 4] = ["", "gossamer/src", "gossamer-cli/src", "gossamer-macros/src"];

/// The documents below a directory, by path in the workspace.
fn documents(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
            found.extend(documents(&path));
        } else if name.ends_with(".md") && !path.is_symlink() {
            found.push(path.strip_prefix(workspace()).unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

/// Whether text in backticks names a file or a room of the workspace.
fn is_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c);
    let ours = text.contains('/') && text.starts_with(|c: char| c.is_ascii_lowercase());
    text.chars().all(is_plain) && (ours || text.ends_with(".rs")) && !text.starts_with("target/")
}

/// The paths that a document names in backticks, outside of its blocks of code, and the targets of its links within the
/// workspace, as they are written there.
fn references(text: &str) -> (Vec<&str>, Vec<&str>) {
    let prose = text.split("```").step_by(2);
    let paths = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).filter(|text| is_path(text));
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    (paths.collect(), links.filter(|link| !link.is_empty() && !link.contains("://")).collect())
}

#[test]
fn files_rooms_and_links_that_a_document_names_exist() {
    let (workspace, mut wrong) = (workspace(), Vec::new());
    let names = documents(&workspace);
    assert!(names.len() > 12, "the documents are where they were");
    for name in names.iter().filter(|name| *name != "CHANGELOG.md") {
        let text = document(name);
        let own = workspace.join(name).parent().unwrap().to_owned();
        let (paths, links) = references(&text);
        let is_there = |path: &str| {
            // In the book, that file belongs to the reader's project.
            if name.starts_with("docs/book/") && path == "src/main.rs" {
                return true;
            }
            let roots = ROOTS.map(|root| workspace.join(root));
            let mut places = roots.iter().chain([&own]).map(|root| root.join(path));
            places.any(|place| place.exists() || place.with_extension("rs").exists())
        };
        wrong.extend(
            paths.iter().filter(|path| !is_there(path)).map(|path| format!("{name}: there is no `{path}`")),
        );
        wrong.extend(
            links
                .iter()
                .filter(|link| !own.join(link).exists())
                .map(|link| format!("{name}: a link leads to `{link}`, which is not there")),
        );
    }
    assert_none(wrong);
}

/// The names by which links refer to the headings of a document.
fn headings(text: &str) -> Vec<String> {
    let prose = text.split("\n```").step_by(2);
    let titles = prose.flat_map(str::lines).filter(|line| line.starts_with('#'));
    let name = |title: &str| {
        let title = title.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|c| c.is_alphanumeric() || "_-".contains(*c)).collect()
    };
    titles.map(name).collect()
}

#[test]
fn headings_that_a_link_names_exist() {
    let (workspace, mut wrong, mut seen) = (workspace(), Vec::new(), 0);
    for name in documents(&workspace) {
        let text = document(&name);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let Some((file, heading)) = target.split_once('#') else { continue };
            let there = match file {
                "" => text.clone(),
                // A page of the book may consist of another document.
                file => included(&workspace.join(&name).with_file_name(file)),
            };
            seen += 1;
            if !headings(&there).iter().any(|there| there == heading) {
                wrong.push(format!("{name}: a link leads to `{target}`, where no heading has that name"));
            }
        }
    }
    assert!(seen > 5, "{seen} links to headings");
    assert_none(wrong);
}

/// The content of a document, or of the one that it consists of.
fn included(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let name = text.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
    let other = name.map(|name| fs::read_to_string(path.with_file_name(name)).unwrap_or_default());
    other.unwrap_or(text)
}

#[test]
fn a_heading_is_named_as_links_name_it() {
    let text = "# One, two: `three_four`\n```sh\n# five\n```\n## Six-seven\ntext # eight\n";
    assert_eq!(headings(text), ["one-two-three_four", "six-seven"]);
}

#[test]
fn a_reference_is_told_from_other_text_in_backticks() {
    let text = "`lane/client.rs` `fork.rs` `shm/` `files/sender` `Trust` `/etc/key` `a / b` `target/app` `u64`\n\
                ```text\n`in/code.rs`\n```\n[a](b.md) [c](d/e.md#f) [g](#h) [i](https://j)";
    let (paths, links) = references(text);
    assert_eq!(paths, ["lane/client.rs", "fork.rs", "shm/", "files/sender"]);
    assert_eq!(links, ["b.md", "d/e.md"]);
}

/// Characters of a line of prose.
const WIDTH: usize = 120;

/// The numbers of the lines of prose that are too long. Tables, code, headings and the output of programs may be
/// longer.
fn long_lines(text: &str) -> Vec<usize> {
    let (mut in_code, mut is_generated, mut long) = (false, false, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        in_code ^= line.trim_start().starts_with("```");
        if line.starts_with("<!-- generated") {
            is_generated = line.ends_with("begin -->");
        }
        let is_prose = !in_code && !is_generated && !line.starts_with("    ");
        // Code within a line is not wrapped.
        let may_be_broken = !line.contains('`') && !line.trim_start().starts_with(['|', '<', '#', '[']);
        if is_prose && may_be_broken && line.chars().count() > WIDTH {
            long.push(number);
        }
    }
    long
}

#[test]
fn prose_of_documents_is_at_most_120_characters_wide() {
    let long = documents(&workspace()).into_iter().flat_map(|name| {
        let lines = long_lines(&document(&name));
        lines.into_iter().map(move |number| format!("{name}:{number}")).collect::<Vec<_>>()
    });
    assert_none(long.collect());
}

#[test]
fn only_lines_of_prose_are_measured() {
    let (prose, code) = ("word ".repeat(30), "| a ".repeat(40));
    let text = format!("{prose}\n```text\n{prose}\n```\n{code}\n# {prose}\n    {prose}\nshort\n{prose}\n");
    assert_eq!(long_lines(&text), [1, 9]);
}
