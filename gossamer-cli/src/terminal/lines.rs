//! Cuts what nodes write into lines, and puts the time and the node's name before each.

use std::time::SystemTime;

/// The longest line. A longer one is cut, since the nodes' lines take turns and each is held until it is complete.
pub const LONGEST: usize = 64 * 1024;

/// How output is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixStyle {
    /// As it is.
    Raw,
    /// With the name of the node.
    Plain,
    /// With the name of the node, in a colour.
    Coloured,
}

/// One output of one node.
#[derive(Debug)]
pub struct Lines {
    prefix: Option<String>,
    has_times: bool,
    partial: Vec<u8>,
}

impl Lines {
    /// Of this node.
    #[must_use]
    pub fn new(node: usize, style: PrefixStyle) -> Self {
        // Red is reserved for errors.
        const COLOURS: [u8; 10] = [36, 32, 33, 35, 34, 96, 92, 93, 95, 94];
        let prefix = match style {
            PrefixStyle::Raw => None,
            PrefixStyle::Plain => Some(format!("[node {node}] ")),
            PrefixStyle::Coloured => {
                let colour = COLOURS.get(node % COLOURS.len()).copied().unwrap_or(36);
                Some(format!("\x1b[{colour}m[node {node}]\x1b[0m "))
            }
        };
        Self { prefix, has_times: false, partial: Vec::new() }
    }

    /// With the time before each line, even if lines are not marked otherwise.
    #[must_use]
    pub fn with_times(mut self) -> Self {
        self.prefix.get_or_insert_default();
        self.has_times = true;
        self
    }

    /// The text before a line that is complete now.
    fn mark(&self) -> Option<String> {
        let prefix = self.prefix.as_ref()?;
        match self.has_times {
            true => Some(format!("{} {prefix}", humantime::format_rfc3339_millis(SystemTime::now()))),
            false => Some(prefix.clone()),
        }
    }

    /// Takes bytes, and returns what can be printed.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(prefix) = &self.mark() else { return bytes.to_vec() };
        let mut printable = Vec::with_capacity(bytes.len() + prefix.len());
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let mut rest = piece;
            while self.partial.len() + rest.len() > LONGEST {
                let (head, tail) = rest.split_at(LONGEST - self.partial.len());
                self.partial.extend_from_slice(head);
                rest = tail;
                print(prefix, &mut self.partial, &mut printable);
            }
            self.partial.extend_from_slice(rest);
            if rest.ends_with(b"\n") {
                print(prefix, &mut self.partial, &mut printable);
            }
        }
        printable
    }

    /// At the end of the output: the last line, if it has no line end.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let mut printable = Vec::new();
        if let Some(prefix) = self.mark()
            && !self.partial.is_empty()
        {
            print(&prefix, &mut self.partial, &mut printable);
        }
        printable
    }
}

fn print(prefix: &str, line: &mut Vec<u8>, printable: &mut Vec<u8>) {
    printable.extend_from_slice(prefix.as_bytes());
    printable.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        printable.push(b'\n');
    }
    line.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_begins_with_the_time_if_that_is_wanted() {
        let mut lines = Lines::new(2, PrefixStyle::Raw).with_times();
        let printed = text(lines.push(b"a\nb")) + &text(lines.finish());
        let mut marked = Lines::new(2, PrefixStyle::Plain).with_times();
        let printed = printed + &text(marked.push(b"c\n"));
        let ends: Vec<&str> = printed
            .lines()
            .map(|line| {
                let (time, rest) = line.split_once(' ').unwrap();
                humantime::parse_rfc3339(time).unwrap();
                rest
            })
            .collect();
        assert_eq!(ends, ["a", "b", "[node 2] c"]);
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_that_come_in_pieces_are_printed_whole() {
        let mut lines = Lines::new(2, PrefixStyle::Plain);
        assert_eq!(text(lines.push(b"a")), "");
        assert_eq!(text(lines.push(b"b\n\nc")), "[node 2] ab\n[node 2] \n");
        assert_eq!(text(lines.finish()), "[node 2] c\n");
        assert_eq!(text(lines.finish()), "");
    }

    #[test]
    fn raw_output_stays_as_it_is() {
        let mut lines = Lines::new(0, PrefixStyle::Raw);
        assert_eq!(text(lines.push(b"a\nb")), "a\nb");
        assert_eq!(text(lines.finish()), "");
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory_and_loses_nothing() {
        let mut lines = Lines::new(0, PrefixStyle::Plain);
        let mut printed = Vec::new();
        for _ in 0..20 {
            printed.extend(lines.push(&[b'x'; 10_000]));
            assert!(lines.partial.len() <= LONGEST);
        }
        printed.extend(lines.finish());
        assert_eq!(printed.iter().filter(|&&byte| byte == b'x').count(), 200_000);
        assert_eq!(text(printed).lines().count(), 200_000_usize.div_ceil(LONGEST));
    }

    #[test]
    fn a_full_line_and_its_end_are_one_line() {
        let mut lines = Lines::new(0, PrefixStyle::Plain);
        let mut line = vec![b'x'; LONGEST - 1];
        line.push(b'\n');
        assert_eq!(text(lines.push(&line)).lines().count(), 1);
    }
}
