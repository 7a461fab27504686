//! Parts of pages that are generated, between two marks.

use std::ops::Range;

/// The part of a text with the marks and what is between them.
pub(crate) fn generated(text: &str, begin: &str, end: &str) -> Option<Range<usize>> {
    let first = text.find(begin)?;
    let last = first + text[first..].find(end)?;
    Some(first..last + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_is_found_between_its_marks() {
        let text = "before\n<begin>\ntables\n<end>\nafter\n";
        let found = generated(text, "<begin>", "<end>");
        assert_eq!(found.map(|range| &text[range]), Some("<begin>\ntables\n<end>"));
        assert_eq!(generated("<end><begin>", "<begin>", "<end>"), None);
        assert_eq!(generated("<begin>", "<begin>", "<end>"), None);
    }
}
