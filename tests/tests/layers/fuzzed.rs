//! Fuzz targets that have files of a program among their own, which only a nightly compiler builds.

use crate::{assert_none, document, sources, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const TARGETS: &str = "fuzz/fuzz_targets";

/// Modules of a target that are files of a program, each with their path.
fn modules<'a>(target: &'a str) -> Vec<(&'a str, &'a str)> {
    let lines: Vec<_> = target.lines().collect();
    let module = |pair: &[&'a str]| {
        let path = pair[0].strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
        Some((pair[1].strip_prefix("mod ")?.strip_suffix(';')?, path))
    };
    lines.windows(2).filter_map(module).collect()
}

/// The files of a module, without tests.
fn texts(path: &Path) -> Vec<String> {
    let files = match path.ends_with("mod.rs") {
        true => sources(path.parent().unwrap()),
        false => [(path.display().to_string(), fs::read_to_string(path).unwrap())].into(),
    };
    let program = files.into_iter().filter(|(name, _)| !name.ends_with("tests.rs"));
    program.map(|(_, text)| text.split("\nmod tests {").next().unwrap_or_default().to_owned()).collect()
}

/// What follows each `crate::`, but for that of a macro.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    let after = text.match_indices("crate::").filter(|(at, _)| !text[..*at].ends_with('$'));
    after.map(|(at, found)| {
        let name = &text[at + found.len()..];
        name.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap_or_default()
    })
}

#[test]
fn a_fuzz_target_has_all_modules_that_the_files_of_its_program_import() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (name, target) in sources(&workspace().join(TARGETS)) {
        let modules = modules(&target);
        let names: BTreeSet<_> = modules.iter().map(|(name, _)| *name).collect();
        for (module, path) in &modules {
            for text in texts(&workspace().join(TARGETS).join(path)) {
                let missing = imported(&text).filter(|import| !names.contains(import));
                wrong.extend(
                    missing.map(|import| format!("{TARGETS}/{name}: `{module}` needs `mod {import}`")),
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "targets are understood");
    assert!(document("fuzz/Cargo.toml").contains("fuzz_targets/hydra.rs"), "they are where they were");
    assert_none(wrong);
}
