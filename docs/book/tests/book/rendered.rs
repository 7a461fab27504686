//! The book as mdBook renders it, where mdBook is installed.

use crate::book;
use std::process::Command;

#[test]
fn mdbook_renders_the_book() {
    let folder = std::env::temp_dir().join(format!("gossamer-rendered-{}", std::process::id()));
    let mut mdbook = Command::new("mdbook");
    let Ok(output) = mdbook.arg("build").arg(book()).arg("--dest-dir").arg(&folder).output() else {
        eprintln!("\n!!! mdbook is not installed: the book is not rendered !!!\n");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    assert!(folder.join("index.html").exists(), "{said}");
    _ = std::fs::remove_dir_all(folder);
}
