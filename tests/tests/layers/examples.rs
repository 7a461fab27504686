//! How many documented functions of the library have no example: a number that only falls.

use crate::{assert_none, library};

/// This many there are. Whoever writes an example lowers it.
const WITHOUT: usize = 365;

/// The documented public functions of a file whose documentation has no block of code, by line. Those of types that nobody outside can
/// name count, too: a few.
fn without_example(text: &str) -> Vec<usize> {
    let (mut is_documented, mut has_example, mut found) = (false, false, Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        if let Some(documented) = line.strip_prefix("///") {
            (is_documented, has_example) = (true, has_example || documented.contains("```"));
        } else if !line.starts_with("#[") {
            let mut starts = ["pub fn ", "pub const fn ", "pub async fn ", "pub unsafe fn "].iter();
            // What only the macros write begins with two underscores.
            let is_function = starts.any(|start| line.starts_with(start)) && !line.contains("fn __");
            if is_function && is_documented && !has_example {
                found.push(number);
            }
            (is_documented, has_example) = (false, false);
        }
    }
    found
}

#[test]
fn functions_without_an_example_become_fewer() {
    let files = library();
    let count: usize = files.iter().map(|file| without_example(&file.text).len()).sum();
    let wrong = (count > WITHOUT).then(|| {
        format!("{count} documented functions have no example, {WITHOUT} may: give the new ones an example")
    });
    assert_none(wrong.into_iter().collect());
}

#[test]
fn an_example_is_a_block_of_code_in_the_documentation() {
    let text = "/// Does it.\n#[inline]\npub fn one() {}\n/// ```\n/// two();\n/// ```\npub fn two() {}\npub fn three() {}\n";
    assert_eq!(without_example(text), [3]);
}
