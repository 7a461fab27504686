//! Where the nodes' output goes: to the launcher's own, or to files whose names have fields in them.

use crate::exit::{Failure, OUTPUT};
use crate::terminal::lines::PrefixStyle;
use crate::terminal::stream::Stream;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file's name with fields in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePattern(String);

/// How the output of nodes is passed on.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// Whether lines are marked with the node's name.
    pub prefix: bool,
    /// Whether lines begin with the time.
    pub timestamps: bool,
    /// To which files, if not to the launcher's own output.
    pub files: Option<FilePattern>,
}

/// The files of all nodes.
#[derive(Debug)]
pub struct NodeOutputFiles {
    /// Each file with its name; each is here once.
    pub files: Vec<(PathBuf, File)>,
    /// The files of each node, by their place: of its standard output and of its standard error.
    pub of_node: Vec<[usize; 2]>,
}

impl FromStr for FilePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Err("is not a file: without this option, output is the launcher's own".into());
        }
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            if character == '%' && !characters.next().is_some_and(|field| "nhas%".contains(field)) {
                return Err("has a `%` that is not %n, %h, %a, %s or %%".into());
            }
        }
        Ok(Self(text.to_owned()))
    }
}

impl FilePattern {
    /// The name of a node's file.
    fn name(&self, node: usize, machine: &str, application: &str, stream: Stream) -> PathBuf {
        let (mut name, mut characters) = (String::new(), self.0.chars());
        while let Some(character) = characters.next() {
            match (character, (character == '%').then(|| characters.next()).flatten()) {
                (_, Some('n')) => name += &node.to_string(),
                (_, Some('h')) => name += machine,
                (_, Some('a')) => name += application,
                (_, Some('s')) => name += if stream == Stream::Out { "out" } else { "err" },
                _ => name.push(character),
            }
        }
        name.into()
    }

    /// Opens the files of all nodes, and empties them; `machines` has the name of the machine of each node.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn open(&self, machines: &[&str], application: &str) -> Result<NodeOutputFiles, Failure> {
        let (mut files, mut of_node) = (Vec::new(), Vec::with_capacity(machines.len()));
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for (node, machine) in machines.iter().enumerate() {
            let mut places = [0; 2];
            for (place, stream) in places.iter_mut().zip([Stream::Out, Stream::Err]) {
                let path = self.name(node, machine, application, stream);
                *place = match known.get(&path) {
                    Some(place) => *place,
                    None => {
                        let file = create(&path).map_err(|error| {
                            let what = format!("{} cannot be written: {error}", path.display());
                            Failure::new(OUTPUT, what)
                        })?;
                        known.insert(path.clone(), files.len());
                        files.push((path, file));
                        files.len() - 1
                    }
                };
            }
            of_node.push(places);
        }
        Ok(NodeOutputFiles { files, of_node })
    }

    /// Whether each node has a file of its own.
    fn tells_nodes_apart(&self) -> bool {
        self.0.replace("%%", "").contains("%n")
    }
}

/// Makes a file, or empties it, with the directories above it.
fn create(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    File::create(path)
}

impl OutputOptions {
    /// How the lines of a node are marked in one of its outputs.
    #[must_use]
    pub fn style(&self, stream: Stream) -> PrefixStyle {
        let is_terminal = || match stream {
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        };
        let coloured = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match &self.files {
            _ if !self.prefix => PrefixStyle::Raw,
            Some(pattern) if pattern.tells_nodes_apart() => PrefixStyle::Raw,
            None if is_terminal() && coloured() => PrefixStyle::Coloured,
            _ => PrefixStyle::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_name_are_filled_in() {
        let name = |pattern: &str| pattern.parse::<FilePattern>().unwrap().name(3, "b", "0af1", Stream::Err);
        assert_eq!(name("log.%n"), PathBuf::from("log.3"));
        assert_eq!(name("%a/%h-%n.%s%%n"), PathBuf::from("0af1/b-3.err%n"));
        for wrong in ["%", "log.%t", "100%", "-"] {
            assert!(wrong.parse::<FilePattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_are_marked_where_nodes_share_a_file() {
        let style = |pattern: &str| {
            let files = Some(pattern.parse().unwrap());
            OutputOptions { prefix: true, timestamps: false, files }.style(Stream::Out)
        };
        assert_eq!(
            (style("log.%n"), style("log"), style("log%%n")),
            (PrefixStyle::Raw, PrefixStyle::Plain, PrefixStyle::Plain)
        );
    }
}
