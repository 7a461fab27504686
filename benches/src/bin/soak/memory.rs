//! How much memory a node has, and for what.

use gossamer::NoRef;
use std::iter::Sum;
use std::ops::Add;

/// Bytes of a node, or of all nodes. Memory that processes share is divided among them.
#[derive(NoRef, Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Everything that is resident.
    pub resident: u64,
    /// The part that is neither on disk nor shared, without stacks of fibers: the heap, and stacks of threads.
    pub private: u64,
    /// The part of it in stacks of fibers.
    pub stacks: u64,
    /// The part of it that nodes share: lanes, and rings of streams.
    pub shared: u64,
    /// What the program has allocated.
    pub allocated: u64,
    /// What the allocator holds besides that; not all of it is resident.
    pub held: u64,
}

impl Memory {
    /// Of this process.
    pub fn now() -> Self {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let mut memory = Self::default();
        let mut lines = maps.lines().peekable();
        while let Some(header) = lines.next() {
            let (mut resident, mut is_stack) = (0, false);
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                match line.split_once(':') {
                    Some(("Pss", value)) => resident = kibibytes(value),
                    // Only these must not become huge pages.
                    Some(("VmFlags", flags)) => is_stack = flags.split_whitespace().any(|flag| flag == "nh"),
                    _ => {}
                }
            }
            memory.count(header, resident, is_stack);
        }
        // SAFETY: the call takes nothing, and reads what the allocator knows of itself.
        let heap = unsafe { libc::mallinfo2() };
        memory.allocated = (heap.uordblks + heap.hblkhd) as u64;
        memory.held = heap.fordblks as u64;
        memory
    }

    fn count(&mut self, header: &str, resident: u64, is_stack: bool) {
        let path = header.split_whitespace().nth(5).unwrap_or_default();
        self.resident += resident;
        match path {
            _ if is_stack => self.stacks += resident,
            path if path.starts_with("/memfd:") || path.starts_with("/dev/shm") => self.shared += resident,
            path if path.starts_with('/') => {}
            _ => self.private += resident,
        }
    }
}

/// Makes the allocator return everything that it holds and the system can take.
pub fn trim() {
    // SAFETY: the call takes a number, and frees nothing that is allocated.
    unsafe { libc::malloc_trim(0) };
}

/// `55d0c0a00000-55d0c0a21000 rw-p ...`, and not `Pss: 4 kB`.
fn is_header(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| !word.ends_with(':'))
}

fn kibibytes(value: &str) -> u64 {
    let number = value.trim().strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

impl Add for Memory {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            resident: self.resident + other.resident,
            private: self.private + other.private,
            stacks: self.stacks + other.stacks,
            shared: self.shared + other.shared,
            allocated: self.allocated + other.allocated,
            held: self.held + other.held,
        }
    }
}

impl Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
