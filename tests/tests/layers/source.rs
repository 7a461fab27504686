//! One source file, read as tokens: what the rules are about, with the lines where it is.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// One file of the library, or of the command.
pub struct File {
    /// Relative to `src`.
    pub name: String,
    pub text: String,
    pub tokens: TokenStream,
}

/// Something that a rule is about, found in a file, with its line.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// `crate::name`
    Crate(usize, String),
    /// A path that begins with more `super` than there are modules around it in this file.
    Super(usize),
    /// An `unsafe`
    Unsafe(usize),
    /// `atomic`, but not `crate::atomic`.
    ForeignAtomic(usize),
    /// A path into a crate that only the floor may use.
    Floor(usize, String),
}

impl File {
    /// # Panics
    /// If the text is not Rust.
    pub fn new(name: &str, text: String) -> Self {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), text, tokens }
    }

    /// `structures/local_queue.rs` is in `structures`, `runtime.rs` in `runtime`.
    pub fn layer(&self) -> &str {
        let first = self.name.split('/').next().unwrap();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    pub fn found(&self) -> Vec<Found> {
        let mut found = Vec::new();
        look_through(&self.tokens, 0, &mut found);
        found
    }

    pub fn lines_with_unsafe(&self) -> Vec<usize> {
        let unsafes = self.found().into_iter().filter_map(|found| match found {
            Found::Unsafe(line) => Some(line),
            _ => None,
        });
        unsafes.collect()
    }

    pub fn comments(&self, marks: &[&str]) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
        lines.filter(move |(_, line)| marks.iter().any(|mark| line.starts_with(mark)))
    }
}

/// Looks through tokens inside of `depth` modules that are written out in their file.
fn look_through(tokens: &TokenStream, depth: usize, found: &mut Vec<Found>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |at: usize, text: &str| match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => ident == text,
        Some(TokenTree::Punct(punct)) => text.len() == 1 && text.starts_with(punct.as_char()),
        _ => false,
    };
    let follows = |at: usize| is(at + 1, ":") && is(at + 2, ":");
    // A struct of C may have a field of any name.
    let is_field = |at: usize| is(at + 1, ":") && !follows(at);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let is_module = group.delimiter() == Delimiter::Brace
                    && (at >= 2 && is(at - 2, "mod") || at >= 3 && is(at - 3, "mod") && is(at - 2, "$"));
                look_through(&group.stream(), depth + usize::from(is_module), found);
            }
            TokenTree::Ident(ident) => {
                let line = line_of(ident);
                match ident.to_string().as_str() {
                    "crate" if follows(at) => {
                        let names = first_names(tokens.get(at + 3));
                        found.extend(names.into_iter().map(|name| Found::Crate(line, name)));
                    }
                    "super" if follows(at) && !(at >= 2 && is(at - 1, ":")) => {
                        let ups = (0..).take_while(|up| is(at + 3 * up, "super")).count();
                        if ups > depth {
                            found.push(Found::Super(line));
                        }
                    }
                    crate_name @ ("libc" | "corosensei" | "generator" | "asm")
                        if follows(at) || is(at + 1, "!") =>
                    {
                        found.push(Found::Floor(line, crate_name.to_owned()));
                    }
                    "unsafe" => found.push(Found::Unsafe(line)),
                    "atomic" if !(is_field(at) || at >= 3 && is(at - 3, "crate")) => {
                        found.push(Found::ForeignAtomic(line))
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The names that a path goes on with: one, or several in braces.
fn first_names(next: Option<&TokenTree>) -> Vec<String> {
    match next {
        Some(TokenTree::Ident(ident)) => vec![ident.to_string()],
        Some(TokenTree::Group(group)) => {
            let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
            let is_comma =
                |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
            tokens.split(is_comma).flat_map(|path| first_names(path.first())).collect()
        }
        _ => Vec::new(),
    }
}

fn line_of(ident: &Ident) -> usize {
    ident.span().start().line
}

/// All identifiers, in the order of the text.
pub fn flat(tokens: &[TokenTree]) -> Vec<String> {
    let words = tokens.iter().flat_map(|token| match token {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => flat(&group.stream().into_iter().collect::<Vec<_>>()),
        _ => Vec::new(),
    });
    words.collect()
}

/// The invariants that documentation defines: `- A1: …`, `Invariant A1: …`, `- **A1** …`.
pub fn definitions(
    name: &str,
    docs: impl IntoIterator<Item = impl AsRef<str>>,
) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for line in docs {
        let line = line.as_ref().trim_start_matches(['/', '!', ' ', '-', '*']);
        let word = line.strip_prefix("Invariant ").unwrap_or(line);
        let (mark, rest) = word.split_at_checked(2).unwrap_or(("", ""));
        if is_invariant(mark) && (rest.starts_with(':') || rest.starts_with("**")) {
            found.insert((mark.to_owned(), name.to_owned()));
        }
    }
    found
}

pub fn is_invariant(word: &str) -> bool {
    matches!(word.as_bytes(), [b'A'..=b'Z', b'1'..=b'9'])
}
