//! The house rules of the library's source that no compiler checks: which layer imports which, where `unsafe` may be
//! and how it is proved, how large a file may be, what a name may mean. `ARCHITECTURE.md` gives the reasons.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod command;
mod documents;
mod examples;
mod fuzzed;
mod source;
mod vocabulary;

use proc_macro2::TokenTree;
use source::{File, Found, definitions, flat, is_invariant};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up: a file imports from its own layer and from those below.
const LAYERS: [&str; 24] = [
    "atomic",
    "structures",
    "counters",
    "sys",
    "transport",
    "wire",
    "fabric",
    "lane",
    "spans",
    "worker",
    "trust",
    "waiting",
    "sync",
    "blocking",
    "stream",
    "net",
    "kernel",
    "metrics",
    "trace",
    "inspect",
    "runtime",
    "rack",
    "collections",
    "lib",
];

/// Where `unsafe` may be written: whole layers, and single files of others.
const UNSAFE_LAYERS: [&str; 4] = ["structures", "sys", "fabric", "lane"];
const UNSAFE_FILES: [&str; 48] = [
    "collections/travel.rs",
    "kernel/travel.rs",
    "net/travel.rs",
    "rack/topology.rs",
    "spans/travel.rs",
    "stream/blocks/ring.rs",
    "stream/connect/channel.rs",
    "stream/ends/receiver.rs",
    "stream/ends/sender.rs",
    "stream/pump/incoming.rs",
    "stream/pump/mod.rs",
    "stream/pump/outgoing.rs",
    "stream/pump/tcp.rs",
    "stream/pump/verbs.rs",
    "stream/windows/receive_window.rs",
    "stream/windows/send_window.rs",
    "stream/windows/window.rs",
    "sync/travel.rs",
    "trust/answer.rs",
    "trust/archive.rs",
    "trust/call.rs",
    "trust/delegate.rs",
    "trust/hold.rs",
    "trust/latch.rs",
    "trust/launch.rs",
    "trust/may.rs",
    "trust/outside.rs",
    "trust/push.rs",
    "trust/remote.rs",
    "trust/scope.rs",
    "trust/sharded.rs",
    "trust/travel.rs",
    "trust/trustee.rs",
    "trust/unawaited.rs",
    "trust/weak.rs",
    "wire/decoder.rs",
    "wire/encoder.rs",
    "wire/errors.rs",
    "wire/field.rs",
    "wire/noref.rs",
    "wire/owned.rs",
    "wire/plain.rs",
    "wire/row.rs",
    "wire/rows.rs",
    "wire/serde.rs",
    "wire/tests.rs",
    "wire/word.rs",
    "worker/end/grace.rs",
];

/// The layers that the model checker runs: their atomics come from `crate::atomic`, which the model checker replaces.
const MODELLED_LAYERS: [&str; 4] = ["structures", "sys", "fabric", "lane"];

/// A file has fewer lines than this.
const MOST_LINES: usize = 400;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a member of a workspace").to_owned()
}

/// The `.rs` files below a directory, by name relative to it, in order.
fn sources(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(sources(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else if name.ends_with(".rs") {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn library() -> Vec<File> {
    let files: Vec<File> = sources(&workspace().join("gossamer/src"))
        .into_iter()
        .map(|(name, text)| File::new(&name, text))
        .collect();
    assert!(files.len() > 30, "the library is where it was");
    files
}

/// A document, by its path in the workspace.
fn document(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn height(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|name| *name == layer)
}

/// What `lib.rs` exports at the root, by the layer it comes from: `crate::Trust` is `trust`'s.
fn exports(files: &[File]) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    let root = files.iter().find(|file| file.name == "lib.rs").expect("there is a lib.rs");
    let tokens: Vec<TokenTree> = root.tokens.clone().into_iter().collect();
    let is_end = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    for statement in tokens.split(is_end) {
        let words: Vec<String> = flat(statement);
        let Some(at) = words.iter().position(|word| word == "use") else { continue };
        let from = words.get(at + 1).filter(|first| height(first).is_some());
        if let Some(layer) = from {
            exports.extend(words[at + 2..].iter().map(|name| (name.clone(), layer.clone())));
        }
    }
    exports
}

/// Each import that does not go downward, as a sentence with file, line and rule.
fn upward_imports(file: &File, exports: &BTreeMap<String, String>) -> Vec<String> {
    let (own, place) = (file.layer(), format!("gossamer/src/{}", file.name));
    let Some(own_height) = height(own) else {
        return vec![format!(
            "{place}:1: `{own}` is no layer: give it a place in LAYERS and in ARCHITECTURE.md"
        )];
    };
    let mut wrong = Vec::new();
    for found in file.found() {
        match found {
            Found::Crate(line, name) => {
                let layer = if height(&name).is_some() { &name } else { exports.get(&name).unwrap_or(&name) };
                match height(layer) {
                    None if own == "lib" => {}
                    // Macros expand to names that `lib` hides for them.
                    None if name.starts_with("__") => {}
                    None => wrong.push(format!("{place}:{line}: `crate::{name}` is of no layer")),
                    Some(other) if layer == own || other < own_height => {}
                    Some(_) => wrong.push(format!(
                        "{place}:{line}: `{own}` imports `crate::{name}`, of `{layer}`: imports go downward only"
                    )),
                }
            }
            Found::Super(line) => {
                wrong.push(format!("{place}:{line}: `super` leaves the file: name the layer, `crate::…`"));
            }
            Found::Unsafe(_) | Found::ForeignAtomic(_) | Found::Floor(..) => {}
        }
    }
    wrong
}

/// Fails with everything that is wrong, a line each.
#[track_caller]
fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} found:\n{}\n", wrong.len(), wrong.join("\n"));
}

#[test]
fn imports_go_downward_only() {
    let files = library();
    let exports = exports(&files);
    assert_eq!(exports.get("NoRef").map(String::as_str), Some("trust"), "exports are understood");
    assert_none(files.iter().flat_map(|file| upward_imports(file, &exports)).collect());
}

#[test]
fn architecture_md_shows_the_layers_in_this_order() {
    let line = LAYERS.join(" < ");
    assert!(
        document("ARCHITECTURE.md").contains(&line),
        "ARCHITECTURE.md: the order of the layers is\n{line}\n"
    );
}

#[test]
fn unsafe_code_is_only_where_it_is_allowed() {
    let mut wrong = Vec::new();
    for file in library() {
        let allowed = UNSAFE_LAYERS.contains(&file.layer()) || UNSAFE_FILES.contains(&file.name.as_str());
        for line in file.lines_with_unsafe().into_iter().filter(|_| !allowed) {
            wrong.push(format!(
                "gossamer/src/{}:{line}: `unsafe` outside of {UNSAFE_LAYERS:?} and UNSAFE_FILES",
                file.name
            ));
        }
    }
    assert_none(wrong);
}

#[test]
fn unsafe_md_lists_every_file_with_unsafe_code() {
    let (text, mut wrong) = (document("gossamer/UNSAFE.md"), Vec::new());
    for file in library() {
        let listed = text.contains(&format!("| `{}` |", file.name));
        let name = &file.name;
        match (file.lines_with_unsafe().first(), listed) {
            (Some(line), false) => {
                wrong.push(format!("gossamer/src/{name}:{line}: gossamer/UNSAFE.md lacks `{name}`"));
            }
            (None, true) => {
                wrong.push(format!("gossamer/UNSAFE.md lists `{name}`, which has no unsafe code"))
            }
            _ => {}
        }
    }
    assert_none(wrong);
}

/// Whether the lines above an `unsafe`, from it upward, hold its proof: at most a few lines away, since a proof may have
/// several, and the start of its statement may stand between; or in the documentation of what it declares.
fn is_proved<'a>(above: impl Iterator<Item = &'a &'a str> + Clone) -> bool {
    let is_doc = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
    above.clone().take(9).any(|line| line.starts_with("// SAFETY:"))
        || above.take_while(is_doc).any(|line| line.starts_with("/// # Safety"))
}

#[test]
fn unsafe_code_stands_under_numbered_invariants_or_has_its_proof_above_it() {
    let mut wrong = Vec::new();
    for file in library() {
        let heads = || file.comments(&["//!"]).map(|(_, line)| line);
        if !definitions(&file.name, heads()).is_empty() || heads().any(|line| line.starts_with("//! 1. ")) {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
        for line in file.lines_with_unsafe() {
            if !lines[line - 1].contains("unsafe extern") && !is_proved(lines[..line - 1].iter().rev()) {
                wrong.push(format!(
                    "gossamer/src/{}:{line}: no `// SAFETY:` above, nor numbered invariants at the head of the file",
                    file.name
                ));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn an_invariant_that_a_proof_cites_is_defined_once() {
    let files = library();
    let mut defined = BTreeSet::new();
    for readme in ["lane/README.md", "fabric/verbs/README.md"] {
        defined.extend(definitions(readme, document(&format!("gossamer/src/{readme}")).lines()));
    }
    for file in &files {
        defined.extend(definitions(&file.name, file.comments(&["//!", "///"]).map(|(_, line)| line)));
    }
    let mut wrong = Vec::new();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (mark, place) in &defined {
        places.entry(mark).or_default().push(place);
    }
    for (mark, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        wrong.push(format!("{mark} is defined in {places:?}: an invariant has one home"));
    }
    for file in &files {
        for (line, comment) in file.comments(&["// SAFETY:"]) {
            for word in comment.split(|c: char| !c.is_alphanumeric()).filter(|word| is_invariant(word)) {
                if !places.contains_key(word) {
                    wrong.push(format!("gossamer/src/{}:{line}: no invariant {word} is defined", file.name));
                }
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn modelled_layers_take_their_atomics_from_the_facade() {
    let files = library();
    let modelled = files.iter().filter(|file| MODELLED_LAYERS.contains(&file.layer()));
    let mut wrong = Vec::new();
    for file in modelled {
        for found in file.found() {
            if let Found::ForeignAtomic(line) = found {
                let name = &file.name;
                wrong.push(format!(
                    "gossamer/src/{name}:{line}: the model checker sees atomics of `crate::atomic` only"
                ));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn the_operating_system_and_the_context_switch_are_used_by_sys_only() {
    let mut wrong = Vec::new();
    for file in library().iter().filter(|file| file.layer() != "sys") {
        for found in file.found() {
            if let Found::Floor(line, name) = found {
                wrong.push(format!("gossamer/src/{}:{line}: `{name}` outside of `sys`", file.name));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn files_are_short_and_begin_with_their_purpose() {
    let mut wrong = Vec::new();
    for member in [
        "gossamer/src",
        "gossamer-cli/src",
        "gossamer-macros/src",
        "examples/src",
        "examples/graph500/src",
        "tests/src",
        "tests/tests",
        "benches/src",
        "docs/book/programs",
        "docs/book/tests",
        "verbs-sim/src",
        "xtask/src",
    ] {
        for (name, text) in sources(&workspace().join(member)) {
            let lines = text.lines().count();
            if lines >= MOST_LINES {
                wrong.push(format!(
                    "{member}/{name}:{MOST_LINES}: {lines} lines: a file stays under {MOST_LINES}"
                ));
            }
            if !text.starts_with("//! ") {
                wrong.push(format!("{member}/{name}:1: a file begins with its purpose, as a `//!` line"));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn the_page_of_examples_names_every_program() {
    let page = document("examples/README.md");
    let programs = fs::read_dir(workspace().join("examples/src/bin")).unwrap();
    let names = programs.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    assert_none(
        names
            .filter(|name| !page.contains(&format!("--bin {name}")))
            .map(|name| format!("examples/README.md: no command for the program `{name}`"))
            .collect(),
    );
}

#[test]
fn a_broken_rule_is_told_with_file_line_and_rule() {
    let root = File::new("lib.rs", "pub use trust::{NoRef, Trust};".into());
    let text = "//! A file.\nuse crate::{sys::memory, worker};\nmod tests {\n use super::*;\n use super::super::x;\n}\n\
                fn f<T: crate::NoRef>() { g!(crate::wire::x, unsafe { std::sync::atomic::fence() }) }";
    let file = File::new("lane/client.rs", text.into());
    let wrong = upward_imports(&file, &exports(&[root]));
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    for (sentence, (line, rule)) in wrong.iter().zip([(2, "downward"), (5, "`super`"), (7, "downward")]) {
        assert!(sentence.starts_with(&format!("gossamer/src/lane/client.rs:{line}: ")), "{sentence}");
        assert!(sentence.contains(rule), "{sentence}");
    }
    assert_eq!(file.lines_with_unsafe(), [7]);
    assert!(file.found().contains(&Found::ForeignAtomic(7)));
}
