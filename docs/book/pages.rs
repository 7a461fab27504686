// The blocks of code in the book's pages. The build script makes programs of them, and the tests run these; both include this file.

/// A block between fences, as a page has it.
pub struct Block {
    /// What follows the opening fence: `rust`, `rust,compile_fail`, `console`, …
    pub kind: String,
    /// The line of the page on which it begins, counted from 1.
    pub line: usize,
    /// Its lines, each with its end.
    pub text: String,
}

impl Block {
    /// Whether it is Rust that compiles: by itself or, without a `main`, as the body of one.
    pub fn is_program(&self) -> bool {
        self.kind == "rust" || self.kind == "rust,no_run"
    }
}

/// The blocks of a page, in order.
pub fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    for (index, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(kind), None) => {
                open = Some(Block { kind: kind.to_owned(), line: index + 1, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The pages that `SUMMARY.md` lists, in its order: their paths in `src`.
pub fn listed(summary: &str) -> Vec<&str> {
    summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The name of the program in a block, which is a name of Rust, too.
pub fn name(page: &str, block: &Block) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let page: String = page.trim_end_matches(".md").chars().map(plain).collect();
    format!("{page}_{}", block.line)
}
