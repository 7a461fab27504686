//! PageRank (Brin and Page, 1998) of a file, each line of which has two numbers: a page, and one that it has a link to.
//!
//! `pagerank links.txt`; `pagerank make links.txt 10000` writes such a file, of so many pages. Pages lie in turn on all workers. Each worker sends the
//! shares of its own pages by batches, to wherever the pages are that they have links to.

use gossamer::collections::{DistVec, Layout};
use gossamer::spawn_on;
use std::io::{self, Write};

const DAMPING: f64 = 0.85;
const ROUNDS: usize = 50;

#[derive(Default)]
struct Page {
    links: Vec<usize>,
    rank: f64,
    /// What has come from pages that have a link to it.
    sum: f64,
}

fn parse(line: &str) -> (usize, usize) {
    let mut numbers = line.split_whitespace().filter_map(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[gossamer::delegate]
fn read(path: &str) -> io::Result<DistVec<Page>> {
    let links = DistVec::from_lines(path)?.par_map(|_, line| parse(line));
    let last = links.par_map_reduce(|_, (from, to)| *from.max(to), |one, other| one.max(other));
    let count = last.map_or(0, |last| last + 1);
    let pages =
        DistVec::from_fn(Layout::cyclic(count), |_| Page { rank: 1.0 / count as f64, ..Page::default() });
    let mut fibers = Vec::new();
    for trustee in links.trustees() {
        let (links, pages) = (links.clone(), pages.clone());
        fibers.push(spawn_on(trustee, move || {
            let mut updates = pages.updates(|page, to: usize| page.links.push(to));
            updates.extend(links.local(|links| links.to_vec()).unwrap_or_default());
            updates.finish();
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    Ok(pages)
}

/// Each page shares its rank out among those that it has links to; what one without links has is shared out among all.
#[gossamer::delegate]
fn step(pages: &DistVec<Page>) {
    let mut fibers = Vec::new();
    for trustee in pages.trustees() {
        let pages = pages.clone();
        fibers.push(spawn_on(trustee, move || {
            let share = |page: &Page| (page.links.clone(), page.rank / page.links.len().max(1) as f64);
            let shares = pages.local(|pages| pages.iter().map(share).collect::<Vec<_>>()).unwrap_or_default();
            let mut updates = pages.updates(|page, share: f64| page.sum += share);
            updates.extend(
                shares.into_iter().flat_map(|(links, share)| links.into_iter().map(move |to| (to, share))),
            );
            updates.finish();
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    let count = pages.len() as f64;
    let lost = pages.par_fold(0.0, |sum, _, page| sum + if page.links.is_empty() { page.rank } else { 0.0 });
    let lost: f64 = lost.into_iter().sum();
    pages.par_for_each(|_, page| {
        page.rank = (1.0 - DAMPING) / count + DAMPING * (page.sum + lost / count);
        page.sum = 0.0;
    });
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path, count] = &arguments[..]
        && word == "make"
    {
        let mut file = io::BufWriter::new(std::fs::File::create(path)?);
        // Each page has links to its divisors.
        let pairs = (1..count.parse().unwrap_or(1000))
            .flat_map(|page: usize| (1..page).filter(move |to| page % to == 0).map(move |to| (page, to)));
        return pairs.into_iter().try_for_each(|(page, to)| writeln!(file, "{page} {to}"));
    }
    let pages = read(arguments.first().ok_or_else(|| io::Error::other("usage: pagerank FILE"))?)?;
    (0..ROUNDS).for_each(|_| step(&pages));
    let ranks = pages.par_map(|index, page| (page.rank, index));
    ranks.par_sort_by(|one, other| other.0.total_cmp(&one.0));
    println!(
        "{} pages, {:.6} in all",
        pages.len(),
        ranks.par_fold(0.0, |sum, _, (rank, _)| sum + rank).into_iter().sum::<f64>()
    );
    for (rank, page) in ranks.range(..5.min(ranks.len())) {
        println!("{page}: {rank:.6}");
    }
    Ok(())
}
