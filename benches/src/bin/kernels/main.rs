//! `kernels`: the kernels of bale on plain pinned threads with atomics, and on rayon. See `--help`.

mod checks;
mod inputs;
mod plain;
mod with_rayon;

use benches::machine::pin;
use rayon::ThreadPoolBuilder;
use std::process::ExitCode;

const USAGE: &str = "\
usage: kernels plain|rayon KERNEL [SIZE [THREADS [TIMES [ELEMENTS]]]]

The kernels histogram, gather, permutation, permute-matrix, transpose, triangles and toposort, of the same inputs as those of the example
`bale`, in one process: on plain pinned threads that share atomics, or on rayon, with as many pinned threads (default 2), so
many TIMES (default 1); histogram and gather by SIZE updates or look-ups on each thread, of ELEMENTS elements (default SIZE). The
result is checked. Prints the operations (updates, look-ups, numbers, elements of the matrix, questions for an
edge) and the seconds that they took. `benches/scripts/kernels.py` has them take turns with `bale` and with lamellar.";

/// What a kernel has done: operations, and seconds.
type Done = (usize, f64);

/// How large a kernel's input is.
struct Input {
    /// Elements, rows or vertices; what each thread does, where that is not one for each of them.
    size: usize,
    /// Those of the vector that is updated or looked up at random.
    elements: usize,
    threads: usize,
}

type Kernel = fn(&Input) -> Done;

const KERNELS: [(&str, Kernel, Kernel); 7] = [
    ("histogram", plain::histogram, with_rayon::histogram),
    ("gather", plain::gather, with_rayon::gather),
    ("permutation", plain::permutation, with_rayon::permutation),
    ("permute-matrix", plain::permute, with_rayon::permute),
    ("transpose", plain::transpose, with_rayon::transpose),
    ("triangles", plain::triangles, with_rayon::triangles),
    ("toposort", plain::topological_sort, with_rayon::topological_sort),
];

fn chosen(arguments: &[String]) -> Option<Vec<Done>> {
    let [contender, kernel, numbers @ ..] = arguments else { return None };
    let (_, plain, with_rayon) = KERNELS.iter().find(|(name, ..)| name == kernel)?;
    let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let (size, threads, times, elements) = match numbers[..] {
        [] => (10_000, 2, 1, 10_000),
        [size] => (size, 2, 1, size),
        [size, threads] => (size, threads, 1, size),
        [size, threads, times] => (size, threads, times, size),
        [size, threads, times, elements] => (size, threads, times, elements),
        _ => return None,
    };
    let sizes = 1..=0x7fff_ffff;
    if !sizes.contains(&size) || !sizes.contains(&elements) || threads == 0 {
        return None;
    }
    let input = Input { size, elements, threads };
    match contender.as_str() {
        "plain" => Some((0..times).map(|_| plain(&input)).collect()),
        "rayon" => {
            let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(pin).build();
            let pool = pool.unwrap_or_else(|error| panic!("rayon's threads: {error}"));
            Some(pool.install(|| (0..times).map(|_| with_rayon(&input)).collect()))
        }
        _ => None,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if let Some(done) = chosen(&arguments) {
        for (operations, seconds) in done {
            println!("{operations} operations in {seconds:.6} s");
        }
        ExitCode::SUCCESS
    } else {
        eprintln!("{USAGE}");
        ExitCode::from(2)
    }
}
