//! The book, page by page, as its readers follow it: programs are pasted, commands are run, and print what the page shows.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod mistakes;
mod reader;
mod rendered;

use reader::Reader;
use std::fs;
use std::path::{Path, PathBuf};

include!("../../pages.rs");

/// The folder of the book.
fn book() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The workspace.
fn workspace() -> PathBuf {
    book().join("../..").canonicalize().unwrap()
}

/// The pages of the book in order, as path and text; of one folder, or all.
fn pages(folder: &str) -> Vec<(String, String)> {
    let summary = fs::read_to_string(book().join("src/SUMMARY.md")).unwrap();
    let names: Vec<_> = listed(&summary).into_iter().filter(|name| name.starts_with(folder)).collect();
    let read = |name: &str| fs::read_to_string(book().join("src").join(name)).unwrap();
    names.into_iter().map(|name| (name.to_owned(), read(name))).collect()
}

/// Follows pages from the first to the last line.
fn follow(pages: &[(String, String)]) {
    let mut reader = Reader::new();
    let mut followed = 0;
    for (page, text) in pages {
        for block in blocks(text) {
            match block.kind.as_str() {
                "rust" | "rust,no_run" => reader.paste(page, &block),
                "console" => followed += reader.type_in(page, &block),
                _ => {}
            }
        }
        reader.run_what_is_pasted(page);
    }
    assert!(followed > 0, "there are commands in these pages");
}

#[test]
fn the_tutorial_works_by_copy_and_paste_from_its_first_page_to_its_last() {
    follow(&pages("tutorial/"));
}

#[test]
fn the_programs_of_the_guides_print_what_their_pages_show() {
    follow(&pages("guide/"));
}

#[test]
fn every_page_is_in_the_summary_and_every_block_says_what_it_is() {
    let listed: Vec<_> = pages("").into_iter().map(|(page, _)| page).collect();
    for folder in ["", "tutorial", "guide", "how"] {
        for entry in fs::read_dir(book().join("src").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let page = Path::new(folder).join(&name).to_str().unwrap().to_owned();
            let is_page = name.ends_with(".md") && name != "SUMMARY.md";
            assert!(!is_page || listed.contains(&page), "{page} is not in SUMMARY.md");
        }
    }
    const KINDS: &[&str] = &[
        "rust",
        "rust,no_run",
        "rust,compile_fail",
        "console",
        "text",
        "sh",
        "toml",
        "yaml",
        "dockerfile",
        "ini",
    ];
    for (page, text) in pages("") {
        for block in blocks(&text) {
            assert!(
                KINDS.contains(&block.kind.as_str()),
                "{page}:{}: what is a block of {:?}?",
                block.line,
                block.kind
            );
        }
    }
}

#[test]
fn containers_are_built_with_the_pinned_compiler() {
    let toolchain = fs::read_to_string(workspace().join("rust-toolchain.toml")).unwrap();
    let version =
        toolchain.lines().find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"')).unwrap();
    let page = fs::read_to_string(book().join("src/guide/running.md")).unwrap();
    let dockerfile = blocks(&page).into_iter().find(|block| block.kind == "dockerfile").unwrap().text;
    assert!(dockerfile.contains(&format!("FROM rust:{version}-slim-")), "{dockerfile}");
    assert!(dockerfile.contains(&format!("ENV RUSTUP_TOOLCHAIN={version}\n")), "{dockerfile}");
}
