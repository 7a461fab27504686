//! Where waiting fibers are: the functions of the program and their lines.

use crate::inspect::report::FiberGroup;
use crate::sys::fibers::wait::FiberName;
use crate::worker::shared::Shared;
use crate::worker::watch::backtraces::backtraces;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, PoisonError};

/// Groups of which one fiber is asked: those with the most fibers.
const GROUPS: usize = 100;
/// Parts of the paths of files that are not the program's: those of this library, of the crates that switch and walk
/// stacks, and of the standard library.
const LIBRARY_FILES: [&str; 5] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/src/"),
    "/corosensei-",
    "/backtrace-",
    "/rustc/",
    "/rustlib/src/rust/library/",
];
/// The same, as names of functions, for programs without debug information.
const LIBRARY_CRATES: [&str; 6] = ["gossamer", "corosensei", "backtrace", "std", "core", "alloc"];
/// The first function on the stack of a fiber; below it are those of the worker.
const FIRST_OF_FIBER: &str = "stack_init_trampoline";

/// A function that was called, and where it is.
struct CalledFunction {
    name: String,
    place: Option<String>,
    is_of_library: bool,
}

/// Adds to each waiting group where one of its fibers is. `examples` are fibers of these groups, in the same order.
pub(super) fn add(runtime: &Shared, groups: &mut [FiberGroup], examples: &[FiberName]) {
    // One caller at a time: reading symbols takes long, and the others wait.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut waiting: Vec<_> =
        groups.iter_mut().zip(examples).filter(|(group, _)| group.state == "waits").collect();
    waiting.truncate(GROUPS);
    let fibers: Vec<FiberName> = waiting.iter().map(|(_, fiber)| **fiber).collect();
    let mut frames = backtraces(runtime, &fibers);
    for (group, fiber) in waiting {
        let called = frames.remove(fiber).unwrap_or_default().into_iter().flat_map(functions);
        group.backtrace = of_the_program(called.collect()).iter().map(told).collect();
    }
    // The symbols are large, and no longer needed.
    backtrace::clear_symbol_cache();
}

/// The function at an address, and those that it was inlined into.
fn functions(address: usize) -> Vec<CalledFunction> {
    let mut functions = Vec::new();
    backtrace::resolve(without_provenance_mut(address), |symbol| {
        let file = symbol.filename().map(|path| path.display().to_string());
        let name = symbol.name().map_or_else(|| format!("{address:#x}"), |name| format!("{name:#}"));
        let is_of_library = is_of_library(&name, file.as_deref());
        let place = file.map(|file| match symbol.lineno() {
            Some(line) => format!("{file}:{line}"),
            None => file,
        });
        functions.push(CalledFunction { name, place, is_of_library });
    });
    functions
}

fn is_of_library(name: &str, file: Option<&str>) -> bool {
    match file {
        Some(file) => LIBRARY_FILES.iter().any(|part| file.contains(part)),
        None => {
            let path = name.trim_start_matches(['<', '&']).split_once("::");
            path.is_none_or(|(first, _)| LIBRARY_CRATES.contains(&first))
        }
    }
}

/// The functions of the fiber, without those of libraries at both ends. If there are no others, it keeps those.
fn of_the_program(mut functions: Vec<CalledFunction>) -> Vec<CalledFunction> {
    if let Some(first) = functions.iter().position(|function| function.name == FIRST_OF_FIBER) {
        functions.truncate(first);
    }
    let is_own = |function: &CalledFunction| !function.is_of_library;
    if let (Some(first), Some(last)) = (functions.iter().position(is_own), functions.iter().rposition(is_own))
    {
        functions.truncate(last + 1);
        functions.drain(..first);
    }
    functions
}

fn told(function: &CalledFunction) -> String {
    match &function.place {
        Some(place) => format!("{} at {place}", function.name),
        None => function.name.clone(),
    }
}
