//! How a vertex was reached.

use gossamer::NoRef;
use std::cmp::Ordering;
use std::num::NonZeroU32;

/// No vertex: the parent of one that was not reached.
pub const NONE: u32 = u32::MAX;

/// A number that is neither that of a vertex nor `NONE`.
const UNUSED: u32 = u32::MAX - 1;

/// The length of a path, and the vertex before its end. An `Option` of it takes no more memory: what a search has sent to
/// each vertex is a list of them, and most of its time goes into looking there.
#[derive(Clone, Copy, Debug, NoRef)]
pub struct Path {
    distance: f32,
    /// The parent, such that no vertex and no lack of one is 0.
    parent: NonZeroU32,
}

impl Path {
    pub const UNKNOWN: Self = Self::new(f32::INFINITY, NONE);

    /// The parent of the key is the key itself.
    #[inline]
    pub const fn new(distance: f32, parent: u32) -> Self {
        match NonZeroU32::new(parent ^ UNUSED) {
            Some(parent) => Self { distance, parent },
            None => panic!("there are no so many vertices"),
        }
    }

    #[inline]
    pub fn distance(self) -> f32 {
        self.distance
    }

    #[inline]
    pub fn parent(self) -> u32 {
        self.parent.get() ^ UNUSED
    }
}

/// By the distance, whatever the parent is: a path that is only as short as another was sent in vain.
impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.distance.partial_cmp(&other.distance)
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.distance == other.distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_be_missing_takes_no_more_memory() {
        assert_eq!(size_of::<Option<Path>>(), 8);
        for parent in [0, 1, UNUSED - 1, NONE] {
            assert_eq!(Path::new(0.5, parent).parent(), parent);
        }
    }
}
