//! Each documented function that others can call has an example.

use crate::{assert_none, library, workspace};
use std::collections::BTreeSet;
use std::fs;

/// Files of items that need a feature: such items are public, but not listed in the text of the public interface.
const OF_FEATURES: [&str; 5] = ["net/tls/", "spans/", "trust/archive.rs", "trust/may.rs", "wire/serde.rs"];

/// Its functions have the names of public ones, which have the examples.
const CALLED_BY_MACROS: &str = "trust/arguments_first.rs";

/// A function that others can call, if they can name its type.
#[derive(Debug, PartialEq)]
struct Function {
    line: usize,
    /// The type of its `impl`; in a macro, `$` and a name.
    of: Option<String>,
    name: String,
}

impl Function {
    /// Whether others can name it. For a function that macros write: whether they can name some function of that name.
    fn is_in(&self, interface: &BTreeSet<String>) -> bool {
        match &self.of {
            _ if self.name.starts_with('$') => true,
            None => interface.contains(&self.name),
            Some(of) if of.starts_with('$') => {
                interface.iter().any(|path| path.split_once("::").is_some_and(|(_, name)| name == self.name))
            }
            Some(of) => interface.contains(&format!("{of}::{}", self.name)),
        }
    }
}

/// The documented public functions of a file whose documentation has no block of code.
fn without_example(text: &str) -> Vec<Function> {
    let (mut is_documented, mut has_example, mut of, mut found) = (false, false, None, Vec::new());
    for (number, indented) in (1..).zip(text.lines()) {
        let line = indented.trim_start();
        if let Some(documented) = line.strip_prefix("///") {
            (is_documented, has_example) = (true, has_example || documented.contains("```"));
        } else if !line.starts_with("#[") {
            // The names of functions that only macros call begin with two underscores.
            let name = function_name(line).filter(|name| !name.starts_with("__"));
            if let Some(name) = name.filter(|_| is_documented && !has_example) {
                found.push(Function { line: number, of: of.clone(), name });
            }
            (is_documented, has_example) = (false, false);
        }
        // In a list of types, `impl` stands before a trait.
        if line.starts_with("impl") && !line.ends_with(',') {
            let line = without_generics(line);
            let path = line.split_whitespace().nth(1).unwrap_or_default();
            of = Some(path.rsplit("::").next().unwrap_or_default().to_owned());
        } else if indented == "}" {
            of = None;
        }
    }
    found
}

/// The name of a public function, and its path, from a line of the public interface.
fn function_name(line: &str) -> Option<String> {
    let mut starts = ["pub fn ", "pub const fn ", "pub async fn ", "pub unsafe fn "].iter();
    let rest = starts.find_map(|start| line.strip_prefix(start))?;
    without_generics(rest).split('(').next().map(str::to_owned)
}

/// The text without what is between angle brackets.
fn without_generics(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = text.replace("->", "");
    outside.retain(|character| {
        let was_outside = depth == 0;
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        was_outside && depth == 0
    });
    outside
}

/// The functions that others can name, from the text of the public interface: `Type::function`, or `function` alone.
fn interface(text: &str) -> BTreeSet<String> {
    let paths = text.lines().filter_map(function_name);
    let short = paths.map(|path| {
        let mut parts = path.rsplit("::");
        let name = parts.next().unwrap_or_default().to_owned();
        match parts.next() {
            Some(of) if of.starts_with(char::is_uppercase) => format!("{of}::{name}"),
            _ => name,
        }
    });
    short.collect()
}

#[test]
fn each_documented_function_has_an_example() {
    let interface = interface(&fs::read_to_string(workspace().join("docs/public-interface.txt")).unwrap());
    let mut wrong = Vec::new();
    for file in library().iter().filter(|file| file.name != CALLED_BY_MACROS) {
        let is_of_feature = OF_FEATURES.iter().any(|of| file.name.starts_with(of));
        for function in without_example(&file.text) {
            if is_of_feature || function.is_in(&interface) {
                wrong.push(format!("{}:{}: `{}` has no example", file.name, function.line, function.name));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn an_example_is_a_block_of_code_in_the_documentation() {
    let text = "/// Does it.\n#[inline]\npub fn one() {}\n/// ```\n/// two();\n/// ```\npub fn two() {}\npub fn three() {}\n";
    assert_eq!(without_example(text), [Function { line: 3, of: None, name: "one".into() }]);
}

#[test]
fn only_functions_that_others_can_name_need_an_example() {
    let interface = interface(
        "pub fn gossamer::run<F>(F) where F: Fn() -> u8\npub const fn gossamer::net::Keepalive<T>::new() -> Self\n",
    );
    let needing = |text: &str| {
        let found = without_example(text).into_iter().filter(|function| function.is_in(&interface));
        found.map(|function| function.name).collect::<Vec<_>>()
    };
    assert_eq!(needing("/// .\npub fn run<F>(f: F)\n/// .\npub fn run_hidden()\n"), ["run"]);
    let text = "impl<F: Fn() -> u8> TYPE<F> {\nimpl Fn(),\n    /// .\n    pub const fn new() {}\n}\n/// .\npub fn new() {}\n";
    assert_eq!(needing(&text.replace("TYPE", "super::Keepalive")), ["new"]);
    assert_eq!(needing(&text.replace("TYPE", "Hidden")), [""; 0]);
    assert_eq!(needing(&text.replace("TYPE", "$socket")), ["new"]);
    assert_eq!(needing("/// .\npub fn $name() {}\n"), ["$name"]);
}
