//! k-means (Lloyd, 1982): groups the points of a file, each line of which has two numbers, around a given number of
//! centres.
//!
//! `kmeans points.txt 3`; `kmeans make points.txt 100000 3` writes such a file, of this many points around this many places. Each worker
//! adds up those of its points that are nearest to each centre; these sums are all that travels.

use gossamer::collections::DistVec;
use std::io::{self, Write};

type Point = [f64; 2];

fn add(one: &Point, other: &Point) -> Point {
    [one[0] + other[0], one[1] + other[1]]
}

fn nearest(point: &Point, centres: &[Point]) -> usize {
    let distance = |centre: &Point| (point[0] - centre[0]).powi(2) + (point[1] - centre[1]).powi(2);
    let distances = centres.iter().map(distance).enumerate();
    distances.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(nearest, _)| nearest)
}

fn parse(line: &str) -> Point {
    let mut numbers = line.split_whitespace().filter_map(|number| number.parse().ok());
    [numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0)]
}

/// For each centre, the sum of the points that are nearest to it, and how many points these are.
#[gossamer::delegate]
fn sums(points: &DistVec<Point>, centres: Vec<Point>) -> Vec<(Point, u64)> {
    let mut sums = vec![([0.0; 2], 0); centres.len()];
    let of_workers = points.par_fold(sums.clone(), |mut sums, _, point| {
        let (sum, count): &mut (Point, u64) = &mut sums[nearest(point, &centres)];
        (*sum, *count) = (add(sum, point), *count + 1);
        sums
    });
    for (all, more) in of_workers.iter().flat_map(|of_worker| of_worker.iter().enumerate()) {
        sums[all] = (add(&sums[all].0, &more.0), sums[all].1 + more.1);
    }
    sums
}

fn make(path: &str, points: usize, places: usize) -> io::Result<()> {
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    for point in 0..points {
        // Steps of two irrational numbers spread evenly.
        let spread = |by: f64| (point as f64 * by).fract() - 0.5;
        let place = (point % places) as f64;
        writeln!(file, "{} {}", 10.0 * place + spread(0.618_034), 5.0 * place + spread(0.754_878))?;
    }
    file.flush()
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|number| number.parse().ok()).unwrap_or(3);
    let path = match &arguments[..] {
        [word, path, ..] if word == "make" => return make(path, number(2), number(3)),
        [path, ..] => path,
        [] => return Err(io::Error::other("usage: kmeans FILE [CENTRES]")),
    };
    let points = DistVec::from_lines(path)?.par_map(|_, line| parse(line));
    let (mut centres, mut before) = (points.range(..number(1).min(points.len())), Vec::new());
    while before != centres {
        let sums = sums(&points, centres.clone());
        let mean = |(sum, count): &(Point, u64)| sum.map(|sum| sum / (*count).max(1) as f64);
        before = std::mem::replace(&mut centres, sums.iter().map(mean).collect());
        if before == centres {
            let lines = centres.iter().zip(&sums).map(|(centre, (_, count))| {
                format!("{count} points around {:.3} {:.3}", centre[0], centre[1])
            });
            lines.for_each(|line| println!("{line}"));
        }
    }
    Ok(())
}
