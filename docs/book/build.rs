//! Makes programs of the Rust code in the book's pages: a module for each, all in one binary.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

include!("pages.rs");

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=pages.rs");
    let out = env::var("OUT_DIR")?;
    let (mut modules, mut table) = (String::new(), String::new());
    for page in listed(&fs::read_to_string("src/SUMMARY.md")?) {
        let text = fs::read_to_string(Path::new("src").join(page))?;
        for block in blocks(&text).iter().filter(|block| block.is_program()) {
            let name = name(page, block);
            let code = if block.text.contains("fn main()") {
                block.text.clone()
            } else {
                format!("fn main() {{\n{}}}\n", block.text)
            };
            fs::write(Path::new(&out).join(format!("{name}.rs")), code)?;
            write!(modules, "{}", module(&name))?;
            writeln!(table, "    (\"{name}\", {name}::program),")?;
        }
    }
    let all =
        format!("{modules}\nconst PROGRAMS: &[(&str, fn() -> std::process::ExitCode)] = &[\n{table}];\n");
    fs::write(Path::new(&out).join("programs.rs"), all)?;
    Ok(())
}

/// A program as a module, whose `program` is its `main`.
fn module(name: &str) -> String {
    format!(
        "#[allow(dead_code, reason = \"a page may show what it does not use\")]
mod {name} {{
    include!(concat!(env!(\"OUT_DIR\"), \"/{name}.rs\"));
    pub fn program() -> std::process::ExitCode {{
        super::report(main)
    }}
}}
"
    )
}
