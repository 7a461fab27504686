//! Pairs of numbers that processes send each other in batches.

use lamellar::active_messaging::prelude::*;
use lamellar::darc::prelude::*;

const BATCH: usize = 2048;

/// Elements of a matrix, by row and column, on their way to the process that has the row.
#[AmData(Debug, Clone)]
struct Push {
    arrived: LocalRwDarc<Vec<(u32, u32)>>,
    elements: Vec<(u32, u32)>,
}

#[am]
impl LamellarAM for Push {
    async fn exec(self) {
        self.arrived.write().await.extend_from_slice(&self.elements);
    }
}

/// Where pairs arrive, and those that have not been sent yet.
pub struct Exchange<'world> {
    world: &'world LamellarWorld,
    arrived: LocalRwDarc<Vec<(u32, u32)>>,
    batches: Vec<Vec<(u32, u32)>>,
    /// Lines of each process.
    each: usize,
}

impl<'world> Exchange<'world> {
    /// Of a matrix with this many rows, or columns. All processes make it together.
    pub fn new(world: &'world LamellarWorld, size: usize) -> Self {
        let Ok(arrived) = LocalRwDarc::new(world.team(), Vec::new()).block() else {
            panic!("the list cannot be made")
        };
        world.barrier();
        let processes = world.num_pes();
        let batches = vec![Vec::with_capacity(BATCH); processes];
        Self { world, arrived, batches, each: size.div_ceil(processes) }
    }

    /// To the process that has this line; there it arrives with the line's place among those of the process.
    pub fn push(&mut self, line: u32, other: u32) {
        let to = line as usize / self.each;
        self.batches[to].push((line - (to * self.each) as u32, other));
        if self.batches[to].len() == BATCH {
            self.send(to);
        }
    }

    fn send(&mut self, to: usize) {
        let elements = std::mem::replace(&mut self.batches[to], Vec::with_capacity(BATCH));
        let push = Push { arrived: self.arrived.clone(), elements };
        let _done_by_wait_all = self.world.exec_am_pe(to, push).spawn();
    }

    /// What has arrived once all have sent what they had.
    pub fn finish(&mut self) -> Vec<(u32, u32)> {
        (0..self.batches.len()).for_each(|to| self.send(to));
        self.world.wait_all();
        self.world.barrier();
        let arrived = std::mem::take(&mut *self.arrived.write().block());
        self.world.barrier();
        arrived
    }
}
