//! PageRank (Brin and Page, 1998) of a file, each line of which has two numbers: a page, and a page that it links to.
//!
//! `pagerank links.txt`; `pagerank make links.txt 10000` writes such a file, in which page 12, say, has links to
//! pages 6 and 4. Pages lie in turn on all workers, which send the shares of their pages by batches, to wherever those are that they have links to.

use gossamer::collections::{DistVec, Layout};
use std::fs::File;
use std::io::{self, Write};

const DAMPING: f64 = 0.85;

/// The pages that a page links to, its rank, and the rank that pages with a link to it have sent.
type Page = (Vec<usize>, f64, f64);

fn parse(line: &str) -> (usize, usize) {
    let mut numbers = line.split_whitespace().filter_map(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[gossamer::delegate]
fn read(path: &str) -> io::Result<DistVec<Page>> {
    let links = DistVec::from_lines(path)?.par_map(|_, line| parse(line));
    let last = links.par_map_reduce(|_, (from, to)| *from.max(to), |one, other| one.max(other));
    let count = last.map_or(0, |last| last + 1);
    let pages = DistVec::from_fn(Layout::cyclic(count), |_| (Vec::new(), 1.0 / count as f64, 0.0));
    links
        .par_emit(|_, (from, to), out| out.push(*from, *to))
        .apply_to(&pages, |page: &mut Page, to| page.0.push(to));
    Ok(pages)
}

/// Each page divides its rank among the pages that it links to; the ranks of pages without links are divided among all.
#[gossamer::delegate]
fn step(pages: &DistVec<Page>) {
    pages
        .par_emit(|_, (links, rank, _), out| {
            links.iter().for_each(|to| out.push(*to, *rank / links.len() as f64));
        })
        .apply_to(pages, |page, share| page.2 += share);
    let lost = pages.par_fold(0.0, |lost, _, page| lost + if page.0.is_empty() { page.1 } else { 0.0 });
    let base = (1.0 - DAMPING + DAMPING * lost.iter().sum::<f64>()) / pages.len() as f64;
    pages.par_for_each(|_, page| (page.1, page.2) = (base + DAMPING * page.2, 0.0));
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = match &arguments[..] {
        [word, path, count] if word == "make" => {
            let (mut file, count) = (File::create(path)?, count.parse::<usize>().unwrap_or(1000));
            return (1..count)
                .try_for_each(|page| writeln!(file, "{page} {}\n{page} {}", page / 2, page / 3));
        }
        [path] => path,
        _ => return Err(io::Error::other("usage: pagerank FILE")),
    };
    let pages = read(path)?;
    (0..50).for_each(|_| step(&pages));
    let ranks = pages.par_map(|page, (_, rank, _)| (*rank, page));
    ranks.par_sort_by(|one, other| other.0.total_cmp(&one.0));
    ranks.range(..5.min(ranks.len())).iter().for_each(|(rank, page)| println!("{page} {rank:.6}"));
    Ok(())
}
