//! The links, pictures and headings of a Markdown text.

use std::ops::Range;

/// A link or a picture: `[text](target)`.
pub(super) struct Link {
    /// The place of its target in the text.
    pub(super) target: Range<usize>,
    pub(super) is_picture: bool,
}

/// The links and pictures of a text, in order. What looks like one in code is not one.
pub(super) fn links(text: &str) -> Vec<Link> {
    let text = without_code(text);
    let ends = text.match_indices("](").map(|(at, _)| at);
    ends.filter_map(|end| {
        let begin = text[..end].rfind('[')?;
        let target = end + "](".len();
        let target = target..target + text[target..].find(')')?;
        Some(Link { target, is_picture: text[..begin].ends_with('!') })
    })
    .collect()
}

/// The names by which links refer to the headings of a text.
pub(super) fn headings(text: &str) -> impl Iterator<Item = String> {
    // Code in a heading is part of its name, a block of code is not.
    let plain = without_blocks(text);
    let titles: Vec<_> = plain.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect();
    titles.into_iter().map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let named = title.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || "_-".contains(*c));
        named.map(|c| if c.is_whitespace() { '-' } else { c }).collect()
    })
}

/// A text with spaces in place of its code, so that everything else stays in its place.
fn without_code(text: &str) -> String {
    let plain = without_blocks(text);
    let paragraphs = plain.split_inclusive("\n\n").map(|paragraph| {
        let mut parts = paragraph.split('`').enumerate();
        let first = parts.next().map_or_else(String::new, |(_, part)| part.to_owned());
        parts.fold(first, |mut all, (index, part)| {
            all.push(' ');
            all.push_str(&if index % 2 == 1 { spaces(part) } else { part.to_owned() });
            all
        })
    });
    paragraphs.collect()
}

/// A text with spaces in place of its blocks of code.
fn without_blocks(text: &str) -> String {
    let mut open: Option<&str> = None;
    let lines = text.split_inclusive('\n').map(|line| {
        let fence = ["```", "~~~"].into_iter().find(|fence| line.trim_start().starts_with(fence));
        let was_open = open;
        match (open, fence) {
            (None, Some(fence)) => open = Some(fence),
            (Some(begun), Some(fence)) if begun == fence => open = None,
            _ => {}
        }
        if was_open.is_some() || open.is_some() { spaces(line) } else { line.to_owned() }
    });
    lines.collect()
}

/// As many bytes of space, but with the line ends kept.
fn spaces(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_told_from_pictures_and_from_code() {
        let text = "[a\nb](c.md#d) ![e](f.svg) `[g](h)` [`i`](j)\n```rust\nk[0](l)\n```\n~~~rust\n//! ```\nk[0](l)\n~~~\n[ä — `[`](m)";
        let found: Vec<_> =
            links(text).into_iter().map(|link| (&text[link.target], link.is_picture)).collect();
        assert_eq!(found, [("c.md#d", false), ("f.svg", true), ("j", false), ("m", false)]);
    }

    #[test]
    fn a_heading_is_named_as_links_name_it() {
        let text = "# One, two: `three_four`\n```sh\n# five\n```\n## Six-seven\ntext # eight\n";
        assert_eq!(headings(text).collect::<Vec<_>>(), ["one-two-three_four", "six-seven"]);
    }
}
