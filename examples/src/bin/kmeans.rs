//! k-means (Lloyd, 1982): groups the points of a file, each line of which has two numbers, around so many centres.
//!
//! `kmeans points.txt 3`; `kmeans make points.txt 100000 3` writes such a file, of so many points around so many places. Each worker adds up those of its
//! points that are nearest to each centre; the sums are all that travels.

use gossamer::collections::DistVec;
use std::io::{self, Write};

type Point = [f64; 2];

fn distance(one: &Point, other: &Point) -> f64 {
    (one[0] - other[0]).powi(2) + (one[1] - other[1]).powi(2)
}

fn nearest(point: &Point, centres: &[Point]) -> usize {
    let nearest = (0..centres.len())
        .min_by(|one, other| distance(point, &centres[*one]).total_cmp(&distance(point, &centres[*other])));
    nearest.unwrap_or(0)
}

fn parse(line: &str) -> Point {
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap_or(f64::NAN));
    [numbers.next().unwrap_or(f64::NAN), numbers.next().unwrap_or(f64::NAN)]
}

/// For each centre, the sum of the points that are nearest to it, and how many these are.
#[gossamer::delegate]
fn sums(points: &DistVec<Point>, centres: Vec<Point>) -> Vec<(Point, f64)> {
    let of_workers = points.map_all(|points| {
        let mut sums = vec![([0.0; 2], 0.0); centres.len()];
        for point in points.iter() {
            let (sum, count) = &mut sums[nearest(point, &centres)];
            (sum[0], sum[1], *count) = (sum[0] + point[0], sum[1] + point[1], *count + 1.0);
        }
        sums
    });
    let add = |one: &(Point, f64), other: &(Point, f64)| {
        ([one.0[0] + other.0[0], one.0[1] + other.0[1]], one.1 + other.1)
    };
    let added = of_workers
        .into_iter()
        .reduce(|all, more| all.iter().zip(&more).map(|(all, more)| add(all, more)).collect());
    added.unwrap_or_default()
}

fn make(path: &str, points: usize, places: usize) -> io::Result<()> {
    let mut file = io::BufWriter::new(std::fs::File::create(path)?);
    for point in 0..points {
        // Steps of the golden ratio spread evenly over [0, 1).
        let (place, spread) = ((point % places) as f64, |by: f64| (point as f64 * by).fract() - 0.5);
        writeln!(
            file,
            "{} {}",
            10.0 * place + spread(0.618_033_988_75),
            5.0 * place + spread(0.754_877_666_25)
        )?;
    }
    file.flush()
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|number| number.parse().ok()).unwrap_or(3);
    if arguments.first().is_some_and(|word| word == "make") && arguments.len() > 1 {
        return make(&arguments[1], number(2), number(3));
    }
    let path = arguments.first().ok_or_else(|| io::Error::other("usage: kmeans FILE [CENTRES]"))?;
    let points = DistVec::from_lines(path)?.par_map(|_, line| parse(line));
    let mut centres = points.range(..number(1).min(points.len()));
    for round in 1.. {
        let sums = sums(&points, centres.clone());
        let mean = |(old, (sum, count)): (&Point, &(Point, f64))| {
            if *count > 0.0 { [sum[0] / count, sum[1] / count] } else { *old }
        };
        let moved: Vec<_> = centres.iter().zip(&sums).map(mean).collect();
        let is_done = moved == centres || round == 100;
        centres = moved;
        if is_done {
            for (centre, (_, count)) in centres.iter().zip(&sums) {
                println!("{:.3} {:.3}: {count} points", centre[0], centre[1]);
            }
            break;
        }
    }
    Ok(())
}
