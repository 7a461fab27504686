//! Mistakes that the compiler finds: each page shows a program that `ui-tests` has, too, and of its message what `ui-tests` has recorded.

use crate::{blocks, pages, workspace};
use std::fs;

/// Programs of `ui-tests`, with what the compiler says to them.
fn recorded() -> Vec<(String, String)> {
    let folder = workspace().join("ui-tests/fail");
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let programs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: &std::path::Path| fs::read_to_string(path).unwrap_or_default();
    programs
        .map(|path| {
            let name = format!("fail/{}", path.file_name().unwrap().to_str().unwrap());
            (read(&path), read(&path.with_extension("stderr")).replace(&name, "src/main.rs"))
        })
        .collect()
}

#[test]
fn mistakes_in_the_book_are_refused_with_the_messages_that_it_shows() {
    let (recorded, mut found) = (recorded(), 0);
    for (page, text) in pages("") {
        let blocks = blocks(&text);
        for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.kind == "rust,compile_fail")
        {
            let place = format!("{page}:{}", block.line);
            let Some((_, message)) = recorded.iter().find(|(program, _)| *program == block.text) else {
                panic!("{place}: no program of ui-tests/fail is this one");
            };
            let shown = blocks.get(index + 1).filter(|block| block.kind == "text");
            let mut rest = message.as_str();
            for line in shown.expect("its message follows").text.lines().filter(|line| *line != "…") {
                let at = rest
                    .find(line)
                    .unwrap_or_else(|| panic!("{place}: the compiler does not say\n{line}\nbut\n{message}"));
                rest = &rest[at..];
            }
            found += 1;
        }
    }
    assert!(found > 0, "the tutorial shows mistakes");
}
