//! Good and bad files of each format.

use crate::edges::Edge;
use crate::files::source::{FileError, Source};
use crate::files::{Graph, dimacs, edge_list, matrix_market, metis};
use crate::memory::{Left, Stage};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};

fn read(path: &Path) -> Result<Graph, FileError> {
    super::read(path, Left::default().room(Stage::Reading))
}

type Read = fn(&mut Source) -> Result<Graph, FileError>;

#[track_caller]
fn good(read: Read, text: &'static str, vertices: usize, edges: &[(u32, u32, f32)]) {
    let graph = read(&mut Source::of(text)).unwrap();
    let edges = edges.iter().map(|(from, to, weight)| Edge { from: *from, to: *to, weight: *weight });
    assert_eq!(graph, Graph { vertices, edges: edges.collect() });
}

/// Each text with the line of its error, and a part of the message.
#[track_caller]
fn bad(read: Read, texts: &[(&'static str, u64, &str)]) {
    for (text, line, problem) in texts {
        let error = read(&mut Source::of(text)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("test:{line}: ")) && error.contains(problem),
            "{error} in {text:?}"
        );
    }
}

#[test]
fn edge_lists_are_read() {
    let text = "# a comment\n0 1\n\n% another\n1\t4 2.5\r\n4 4 0\n";
    good(edge_list::read, text, 5, &[(0, 1, 1.0), (1, 4, 2.5), (4, 4, 0.0)]);
    good(edge_list::read, "", 0, &[]);
}

#[test]
fn bad_edge_lists_are_refused() {
    bad(
        edge_list::read,
        &[
            ("0 1\n2\n", 2, "a vertex is missing"),
            ("0 one\n", 1, "`one` is not a number"),
            ("0 -1\n", 1, "`-1` is not a number"),
            ("0 1 x\n", 1, "`x` is not a number that a weight can be"),
            ("0 1 -2\n", 1, "at least 0"),
            ("0 1 NaN\n", 1, "at least 0"),
            ("0 1 -inf\n", 1, "at least 0"),
            ("0 1 1e39\n", 1, "the weight 1e39: too large for single precision"),
            ("0 1 2 3\n", 1, "`3` behind"),
            ("0 4294967295\n", 1, "out of range"),
            ("0 4294967296\n", 1, "is not a number that a vertex can be"),
        ],
    );
}

#[test]
fn dimacs_files_are_read() {
    let text = "c roads\np sp 3 2\na 1 2 10\nc between\na 3 1 7\n";
    good(dimacs::read, text, 3, &[(0, 1, 10.0), (2, 0, 7.0)]);
}

#[test]
fn bad_dimacs_files_are_refused() {
    bad(
        dimacs::read,
        &[
            ("p sp 3 2\na 1 2 10\n", 3, "after 1 of 2 arcs"),
            ("p sp 3 1\na 1 2 1\na 2 3 1\n", 3, "more than the 1"),
            ("p sp 3 1\na 1 4 10\n", 2, "vertex 4 is out of range: there are 3"),
            ("p sp 3 1\na 0 1 10\n", 2, "vertex 0 is out of range"),
            ("p sp 3 1\na 1 2\n", 2, "a weight is missing"),
            ("p sp 3 1\na 1 2 -1\n", 2, "at least 0"),
            ("p sp 3 1\na 1 2 1 1\n", 2, "`1` behind"),
            ("a 1 2 3\n", 1, "before the line `p"),
            ("p edge 3 1\n", 1, "no `p sp"),
            ("p sp x 1\n", 1, "`x` is not a number"),
            ("p sp 4294967295 1\n", 1, "there may be"),
            ("p sp 3 0\np sp 3 0\n", 2, "second"),
            ("e 1 2\n", 1, "`e`"),
            ("c nothing\n", 2, "ends without"),
        ],
    );
}

#[test]
fn a_file_that_is_cut_is_refused_unless_only_its_last_number_is() {
    let cut: [(Read, &'static str, &str); 3] = [
        (dimacs::read, "p sp 3 2\na 1 2 10\na 2 3 5\n", "10\na 2 3 "),
        (metis::read, "3 2 1\n2 5\n1 5 3 6\n2 6\n", "6\n2 "),
        (
            matrix_market::read,
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 10\n2 3 5\n",
            "10\n2 3 ",
        ),
    ];
    for (read, text, end) in cut {
        // Without the last number and what is behind it; the end of a line may be missing.
        let last = text.rfind(end).unwrap() + end.len();
        for length in 0..=last {
            assert!(read(&mut Source::of(&text[..length])).is_err(), "{:?}", &text[..length]);
        }
        assert!(read(&mut Source::of(text.trim_end())).is_ok(), "{text:?}");
    }
}

#[test]
fn metis_files_are_read() {
    // The second vertex has no neighbours.
    good(metis::read, "% a comment\n4 2\n3 4\n\n1\n1\n", 4, &[(0, 2, 1.0), (0, 3, 1.0)]);
    // A size, two weights, and weights of edges.
    good(metis::read, "2 1 111 2\n9 1 2 2 0.5\n9 1 2 1 0.5\n", 2, &[(0, 1, 0.5)]);
}

#[test]
fn bad_metis_files_are_refused() {
    bad(
        metis::read,
        &[
            ("", 1, "ends before"),
            ("3 2\n2\n1 3\n", 4, "after 2 of 3 vertices"),
            ("3 2\n2\n1\n\n", 5, "after 1 of 2 edges"),
            ("2 1\n2\n\n", 4, "both its ends"),
            ("2 1\n3\n\n", 2, "vertex 3 is out of range"),
            ("2 1\n1\n\n", 2, "its own neighbour"),
            ("2 1\n2\n1\n1\n", 4, "behind the last vertex"),
            ("2 1 2\n2\n1\n", 1, "no format"),
            ("2 1 1\n2 3\n1\n", 3, "a weight is missing"),
            ("2 1 10\n\n1\n", 2, "is missing"),
            ("2 1 110 18446744073709551615\n2\n1\n", 2, "is missing"),
            ("2\n", 1, "the number of edges is missing"),
            ("2 1 1\n2 5\n1 6\n", 4, "another weight"),
            ("4 2\n2\n1\n4\n1\n", 6, "another end"),
            ("3 1\n2 3\n1\n1\n", 2, "more than the 1"),
        ],
    );
}

#[test]
fn matrix_market_files_are_read() {
    let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 2\n2 1 0.5\n3 3 1e-1\n";
    good(matrix_market::read, text, 3, &[(1, 0, 0.5), (2, 2, 0.1)]);
    good(
        matrix_market::read,
        "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
        2,
        &[(0, 1, 1.0)],
    );
}

#[test]
fn bad_matrix_market_files_are_refused() {
    bad(
        matrix_market::read,
        &[
            ("1 2 3\n", 1, "%%MatrixMarket"),
            ("", 1, "%%MatrixMarket"),
            ("%%MatrixMarket matrix array real general\n", 1, "only `matrix coordinate"),
            ("%%MatrixMarket matrix coordinate complex general\n", 1, "`complex`"),
            ("%%MatrixMarket matrix coordinate real general\n", 2, "ends before the size"),
            ("%%MatrixMarket matrix coordinate real general\n2 3 1\n", 2, "square"),
            ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n", 4, "after 1 of 2 entries"),
            ("%%MatrixMarket matrix coordinate real general\n2 2 0\n1 2 1\n", 3, "more than the 0"),
            ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", 3, "vertex 3 is out of range"),
            ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n", 3, "`x` is not a number"),
            ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 1\n", 3, "behind an entry"),
        ],
    );
}

/// A file that is removed after its test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("graph500-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_name_says_the_format_and_the_first_bytes_whether_it_is_compressed() {
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n";
    for (name, text) in [
        ("a.gr", "p sp 2 1\na 1 2 1\n"),
        ("a.metis", "2 1\n2\n1\n"),
        ("a.graph", "2 1\n2\n1\n"),
        ("a.mtx", matrix),
        ("a.txt", "0 1\n"),
    ] {
        let expected = Graph { vertices: 2, edges: vec![Edge { from: 0, to: 1, weight: 1.0 }] };
        assert_eq!(read(&Temporary::new(name, text.as_bytes()).0).unwrap(), expected);
        let packed = Temporary::new(&format!("{name}.gz"), &compressed(text));
        assert_eq!(read(&packed.0).unwrap(), expected);
    }
}

#[test]
fn a_name_without_a_dot_before_its_end_says_no_format() {
    let folder = std::env::temp_dir().join(format!("graph500-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let list = Graph { vertices: 2, edges: vec![Edge { from: 0, to: 1, weight: 1.0 }] };
    for name in ["gr", "graph", "metis", "mtx", ".gr", "gr.gz", ".gz", "gz", "a.gr.b", "a.mtx.gz.b"] {
        std::fs::write(folder.join(name), "0 1\n").unwrap();
        assert_eq!(read(&folder.join(name)), Ok(list.clone()), "{name}");
    }
    for name in ["a.gr", "a.b.GR", "a.gr.gz", "a.b.Gr.GZ", "..gr"] {
        std::fs::write(folder.join(name), "p sp 2 1\na 1 2 1\n").unwrap();
        assert_eq!(read(&folder.join(name)), Ok(list.clone()), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_compressed_file_that_is_truncated_or_damaged_is_refused_with_its_line() {
    let text: String = (0..20_000).map(|vertex| format!("{vertex} {}\n", vertex * 7919 % 20_011)).collect();
    let bytes = compressed(&text);
    let truncated = Temporary::new("truncated.gz", &bytes[..bytes.len() / 2]);
    let error = read(&truncated.0).unwrap_err().to_string();
    let line: u64 = error.split(':').nth(1).unwrap().parse().unwrap();
    assert!((2..20_000).contains(&line) && error.contains("cannot be read any further"), "{error}");
    let mut damaged = bytes;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    assert!(read(&Temporary::new("damaged.gz", &damaged).0).is_err());
}

#[test]
fn a_file_that_is_not_there_or_no_text_is_refused() {
    let error = read(&PathBuf::from("/nowhere/graph.gr")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/graph.gr: "), "{error}");
    let error = read(&Temporary::new("binary", b"0 1\n\xff\xfe 2\n").0).unwrap_err().to_string();
    assert!(error.ends_with(":2: the line is no UTF-8 text"), "{error}");
}

#[test]
fn a_line_that_is_longer_than_any_of_its_format_is_refused_before_it_is_read_to_its_end() {
    let endless = "0 ".repeat(1 << 21).leak();
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n{endless}").leak();
    let vertex = format!("3 2\n2 3\n{endless}").leak();
    bad(edge_list::read, &[(endless, 1, "more than 1048576 bytes")]);
    bad(dimacs::read, &[(endless, 1, "more than 1048576 bytes")]);
    bad(matrix_market::read, &[(matrix, 2, "more than 1048576 bytes")]);
    bad(metis::read, &[(endless, 1, "more than 1048576 bytes"), (vertex, 3, "more than 1048672 bytes")]);
    let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(error.starts_with("/dev/zero:1: the line has more than"), "{error}");
}

#[test]
fn a_vertex_may_have_all_others_as_its_neighbours() {
    let vertices = 200_000;
    let all: String = (2..=vertices).map(|vertex| format!(" {vertex} 0.125")).collect();
    let text = format!("{vertices} {} 1\n{all}\n", vertices - 1) + &"1 0.125\n".repeat(vertices - 1);
    assert!(all.len() > 2 << 20);
    assert_eq!(metis::read(&mut Source::of(text.leak())).unwrap().edges.len(), vertices - 1);
}

#[test]
fn a_comment_may_be_longer_than_any_line_and_need_not_be_text() {
    let long = "no text ".repeat(1 << 18);
    let graph = Graph { vertices: 2, edges: vec![Edge { from: 0, to: 1, weight: 1.0 }] };
    for (name, before, start, after) in [
        ("b.txt", "", "  # ", "0 1\n"),
        ("b.gr", "", "c ", "p sp 2 1\na 1 2 1\n"),
        ("b.metis", "", "%", "2 1\n2\n1\n"),
        ("b.mtx", "%%MatrixMarket matrix coordinate pattern general\n", "% ", "2 2 1\n1 2\n"),
    ] {
        let bytes = [before.as_bytes(), start.as_bytes(), b"\xff", long.as_bytes(), b"\n"].concat();
        let file = Temporary::new(name, &[&bytes, after.as_bytes()].concat());
        assert_eq!(read(&file.0).unwrap(), graph, "{name}");
        // The comment is the end of the file.
        let file =
            Temporary::new(name, &[before.as_bytes(), after.as_bytes(), &bytes[before.len()..]].concat());
        assert_eq!(read(&file.0).unwrap(), graph, "{name}");
    }
}

#[test]
fn a_file_with_more_edges_than_memory_allows_is_refused_while_it_is_read() {
    let left = |available| Left::on_one_node(available).room(Stage::Reading);
    let refused = |name: &str, text: &str, megabytes: u64| {
        let file = Temporary::new(name, text.as_bytes());
        let error = super::read(&file.0, left(megabytes * 1_000_000)).unwrap_err().to_string();
        error.strip_prefix(file.0.to_str().unwrap()).unwrap().to_owned()
    };
    let list = "0 1\n".repeat(200_000);
    let error = refused("c.txt", &list, 3);
    assert!(error.starts_with(":131072: 2 vertices and 131072 edges take at least"), "{error}");
    // Whoever announces how many come is refused at once.
    for (name, line, text) in [
        ("c.gr", 1, "p sp 3 1000000\n"),
        ("c.graph", 1, "3 1000000\n"),
        ("c.mtx", 2, "%%MatrixMarket matrix coordinate real general\n3 3 1000000\n"),
    ] {
        let error = refused(name, text, 10);
        assert!(
            error.starts_with(&format!(":{line}: 3 vertices and 1000000 edges take at least")),
            "{error}"
        );
    }
    let file = Temporary::new("d.txt", list.as_bytes());
    assert_eq!(super::read(&file.0, left(10_000_000)).unwrap().edges.len(), 200_000);
}
