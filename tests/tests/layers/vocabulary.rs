//! The house rules of names: in the library, and in the command, a name means one type, and what `GLOSSARY.md` has replaced stays away.

use crate::source::File;
use crate::{assert_none, library};
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// Words that were replaced by those of `GLOSSARY.md`: no type and no module of the library has one in its name.
const REPLACED: &[&str] =
    &["ahead", "bell", "bulk", "cable", "half", "landing", "parcel", "piece", "porch", "post", "way"];

/// Names that users of tokio know, although they contain a word that was replaced elsewhere.
const KNOWN: &[&str] = &["ReadHalf", "WriteHalf"];

/// A type, or a module, that is declared outside of functions.
struct Declared {
    kind: Kind,
    name: String,
    line: usize,
    /// Whether it is compiled for tests only.
    is_test: bool,
}

#[derive(PartialEq)]
enum Kind {
    Type,
    Module,
}

/// What a file declares, in it and in the modules that are written out in it.
fn declared(tokens: &TokenStream, within_test: bool, found: &mut Vec<Declared>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut is_test = within_test;
    for (at, token) in tokens.iter().enumerate() {
        let name = tokens.get(at + 1).and_then(ident);
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = within_test,
            TokenTree::Group(group) if is_attribute(&tokens[..at]) => {
                is_test |= is_for_tests(&group.stream())
            }
            TokenTree::Group(group) if group.to_string().starts_with('{') => {
                if at >= 2 && tokens.get(at - 2).and_then(ident).is_some_and(|word| word == "mod") {
                    declared(&group.stream(), is_test, found);
                }
                is_test = within_test;
            }
            TokenTree::Ident(word) => {
                let kind = match word.to_string().as_str() {
                    "struct" | "enum" | "trait" | "type" | "union" => Kind::Type,
                    "mod" => Kind::Module,
                    _ => continue,
                };
                found.extend(name.map(|name| Declared {
                    kind,
                    name: name.to_string(),
                    line: name.span().start().line,
                    is_test,
                }));
            }
            _ => {}
        }
    }
}

fn ident(token: &TokenTree) -> Option<&Ident> {
    match token {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    }
}

/// Whether a group after these tokens is that of an attribute.
fn is_attribute(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#')
}

/// Whether an attribute limits what follows to tests: `cfg(test)`, `cfg(all(test, …))`.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// What the files declare, each with the name of its file; without test modules, including those in files of their own.
fn shipped(files: &[File]) -> Vec<(&str, Declared)> {
    let mut all = Vec::new();
    for file in files {
        let mut found = Vec::new();
        declared(&file.tokens, false, &mut found);
        all.extend(found.into_iter().map(|declared| (file.name.as_str(), declared)));
    }
    let is_test = |(_, declared): &&(&str, Declared)| declared.is_test && declared.kind == Kind::Module;
    let tests: Vec<String> =
        all.iter().filter(is_test).map(|(file, module)| inner(file, &module.name)).collect();
    let is_in_test = |file: &str| {
        tests.iter().any(|test| file.strip_prefix(test).is_some_and(|rest| rest.starts_with(['.', '/'])))
    };
    all.into_iter().filter(|(file, declared)| !declared.is_test && !is_in_test(file)).collect()
}

/// The path, without its end, of a module's file that another file declares.
fn inner(file: &str, module: &str) -> String {
    let directory = file.strip_suffix(".rs").unwrap();
    let directory = if ["lib", "main"].contains(&directory) { "" } else { directory };
    let directory = directory.strip_suffix("mod").map_or_else(|| format!("{directory}/"), str::to_owned);
    format!("{}{module}", directory.trim_start_matches('/'))
}

/// Names that mean several types, with the places of these.
pub fn ambiguous(files: &[File]) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, declared) in shipped(files) {
        if declared.kind == Kind::Type {
            places.entry(declared.name).or_default().push(format!("{file}:{}", declared.line));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}

/// The words of a name of either kind: `TcpPiece` and `tcp_piece` have `tcp` and `piece`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(letter.to_lowercase().filter(|letter| *letter != '_'));
    }
    words
}

#[test]
fn a_name_of_the_library_means_one_type() {
    // A channel has a sender and a receiver, as in every library; its module says which.
    let of_channels = |name: &str| ["Receiver", "Sender"].contains(&name);
    let several = ambiguous(&library()).into_iter().filter(|(name, _)| !of_channels(name));
    assert_none(several.map(|(name, places)| format!("`{name}` is a type in {places:?}")).collect());
}

#[test]
fn a_term_that_the_glossary_has_replaced_names_nothing() {
    let files = library();
    let named = shipped(&files).into_iter().filter(|(_, named)| !KNOWN.contains(&named.name.as_str()));
    let wrong = named.filter_map(|(file, Declared { name, line, .. })| {
        let word = words(&name).into_iter().find(|word| REPLACED.contains(&word.as_str()))?;
        Some(format!("gossamer/src/{file}:{line}: `{name}`: GLOSSARY.md has another word for `{word}`"))
    });
    assert_none(wrong.collect());
}

#[test]
fn types_are_found_where_they_are_shipped() {
    let file = |name: &str, text: &str| File::new(name, text.into());
    let files = [
        file(
            "a.rs",
            "pub struct A<T>(T);\nmod b { pub(crate) enum B {} }\n#[cfg(test)]\nmod tests { struct A; }",
        ),
        file(
            "lib.rs",
            "mod a;\n#[cfg(all(test, not(loom)))]\nmod c;\n#[cfg(not(test))]\nunion B { a: u8 }\ntype D = u8;",
        ),
        file("c.rs", "struct A;"),
        file("c/d.rs", "struct D;"),
        file("cc.rs", "#[derive(Debug)]\nstruct C;\nimpl E for C { type A = u8; }\nfn f() { struct D; }"),
    ];
    let found: Vec<_> = ambiguous(&files).into_iter().collect();
    assert_eq!(found, [("B".to_owned(), vec!["a.rs:2".to_owned(), "lib.rs:5".to_owned()])]);
    assert_eq!(words("TcpPiece").join(" ").trim(), "tcp piece");
    assert_eq!(words("tcp_piece").join(" ").trim(), "tcp piece");
}
