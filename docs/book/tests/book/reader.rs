//! A reader of the book: pastes programs into `src/main.rs` and types commands into a shell.
//!
//! A program is not built anew for that: all of them are in one binary, and `cargo run` of this shell starts it as the program that was
//! pasted last. With `BOOK_CARGO=1` cargo itself builds and runs what was pasted, as it does at the reader's.

use crate::{Block, book, name, workspace};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds that a command may take.
const LIMIT: &str = "1800";

/// `cargo` of this shell. The command `gossamer` is built already, and so are the programs.
const CARGO: &str = r#"#!/bin/sh
case "$*" in *"-p gossamer-cli"*) exit 0 ;; esac
[ -z "$BOOK_CARGO" ] || exec "$BOOK_REAL_CARGO" "$@"
case "$1" in
run)
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    [ $# -eq 0 ] || shift
    exec "$BOOK_BINARY" "$@" ;;
build)
    mkdir -p target/debug target/release
    ln -sf "$BOOK_BINARY" target/debug/words
    ln -sf "$BOOK_BINARY" target/release/words ;;
*)
    exec "$BOOK_REAL_CARGO" "$@" ;;
esac
"#;

/// What was pasted and not run yet.
struct Pasted {
    line: usize,
    has_run: bool,
}

pub struct Reader {
    /// The reader's home, which is removed with it.
    home: PathBuf,
    /// Where the shell is.
    at: PathBuf,
    /// The name of the program that was pasted last.
    program: String,
    pasted: Option<Pasted>,
    with_cargo: bool,
}

impl Reader {
    pub fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("gossamer-book-{}-{number}", std::process::id()));
        fs::create_dir_all(home.join("bin")).unwrap();
        // Where the first page has the reader clone it to.
        symlink(workspace(), home.join("gossamer")).unwrap();
        let gossamer = Path::new(env!("CARGO_BIN_EXE_book")).with_file_name("gossamer");
        assert!(gossamer.exists(), "{} is not built: `cargo build -p gossamer-cli` does", gossamer.display());
        symlink(gossamer, home.join("bin/gossamer")).unwrap();
        let with_cargo = std::env::var_os("BOOK_CARGO").is_some();
        fs::write(home.join("bin/cargo"), CARGO).unwrap();
        fs::set_permissions(home.join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { at: home.clone(), home, program: String::new(), pasted: None, with_cargo }
    }

    /// A program goes to where cargo wants it.
    pub fn paste(&mut self, page: &str, block: &Block) {
        self.run_what_is_pasted(page);
        self.program = name(page, block);
        self.pasted = Some(Pasted { line: block.line, has_run: block.kind != "rust" });
        if self.with_cargo && self.at.join("src").exists() {
            fs::write(self.at.join("src/main.rs"), &block.text).unwrap();
        }
    }

    /// Runs the program that was pasted last, if no command of its page did: it has to end well.
    pub fn run_what_is_pasted(&mut self, page: &str) {
        if let Some(pasted) = self.pasted.take().filter(|pasted| !pasted.has_run) {
            let (said, ended_well) = self.run("\"$BOOK_BINARY\"");
            assert!(ended_well, "{page}:{}: the program says\n{said}", pasted.line);
        }
    }

    /// Runs the commands of a block, and compares what they print with what the page shows. Returns how many there were.
    pub fn type_in(&mut self, page: &str, block: &Block) -> usize {
        let commands: Vec<_> = format!("\n{}", block.text).split("\n$ ").skip(1).map(str::to_owned).collect();
        for command in &commands {
            let (line, shown) = command.split_once('\n').unwrap_or((command, ""));
            if let Some(pasted) = &mut self.pasted {
                pasted.has_run = true;
            }
            // Unoptimised and on a busy machine, programs are told rightly that they compute for long.
            let watches = if shown.contains("has been held up") { "100" } else { "0" };
            let (said, _) = self.run(&format!("export GOSSAMER_BLOCKED_MILLISECONDS={watches}; {line}"));
            assert!(
                is_shown(&said, shown),
                "{page}:{}: `{line}` has printed\n{said}\nand the page shows\n{shown}",
                block.line
            );
        }
        commands.len()
    }

    /// Runs a line in the shell: all that it prints, and whether its status was 0.
    fn run(&mut self, line: &str) -> (String, bool) {
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", LIMIT, "bash", "-c"]);
        shell.arg(format!("{{ {line}\n}} 2>&1; status=$?; pwd > \"$HOME/at\"; exit $status"));
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("GOSSAMER_") {
                shell.env_remove(variable);
            }
        }
        shell.env_remove("CARGO_TARGET_DIR").env_remove("RUST_BACKTRACE").env_remove("RUSTUP_TOOLCHAIN");
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", self.home.join("bin").display()));
        // Cargo's own files stay where they are, and so does the toolchain.
        let real_home = std::env::var("HOME").unwrap_or_default();
        for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            if std::env::var_os(variable).is_none() {
                shell.env(variable, Path::new(&real_home).join(folder));
            }
        }
        shell.env("HOME", &self.home).env("BOOK_PROGRAM", &self.program);
        shell.env("BOOK_BINARY", env!("CARGO_BIN_EXE_book")).env("BOOK_REAL_CARGO", env!("CARGO"));
        let output = shell.current_dir(&self.at).stdin(Stdio::null()).output().unwrap();
        if let Ok(at) = fs::read_to_string(self.home.join("at")) {
            self.at = at.trim_end().into();
        }
        (self.as_read(&String::from_utf8_lossy(&output.stdout)), output.status.success())
    }

    /// What was printed, with names as in the reader's own project.
    fn as_read(&self, said: &str) -> String {
        let source = format!("{}/{}.rs", env!("OUT_DIR"), self.program);
        let relative = Path::new(&source).strip_prefix(book().join("../..").canonicalize().unwrap());
        let said =
            said.replace(&source, "src/main.rs").replace(&format!("book::{}::", self.program), "words::");
        relative.map_or(said.clone(), |relative| said.replace(relative.to_str().unwrap(), "src/main.rs"))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.home);
    }
}

/// Whether something is what a page shows, where `…` stands for anything, and a line of it for any lines.
fn is_shown(said: &str, shown: &str) -> bool {
    let (mut rest, shown) = (said.trim(), shown.trim());
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(behind) = rest.strip_prefix(first) else { return false };
    rest = behind;
    let parts: Vec<_> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        match (is_last, rest.find(part)) {
            (true, _) if rest.ends_with(part) => return true,
            (false, Some(at)) => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    parts.is_empty() && rest.is_empty()
}

#[test]
fn three_dots_stand_for_anything() {
    for (said, shown) in
        [("a\nb\n", "a\nb\n"), ("took 3 s, b", "took … s, b"), ("a\nx\ny\nb", "a\n…b"), ("a b", "a …")]
    {
        assert!(is_shown(said, shown), "{said} as {shown}");
    }
    for (said, shown) in [("a\nb", "a"), ("a", "a\nb"), ("took 3 m", "took … s"), ("x a", "a …")] {
        assert!(!is_shown(said, shown), "{said} as {shown}");
    }
}
