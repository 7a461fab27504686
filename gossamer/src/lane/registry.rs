//! All operations of this program that may come from another process, by their identity between processes: the offset
//! of the function that describes them from the start of the image. An identity from a peer is looked up here, never
//! followed.

use crate::lane::constant::ClosurePath;
use crate::lane::encoded::Describe;
use crate::lane::operation::Operation;
use crate::lane::place::Places;
use crate::sys::image::address;
use crate::sys::image::records;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// The operations of this program.
pub(crate) struct Registry {
    operations: HashMap<i32, &'static Operation, FixedState>,
    digest: u64,
}

impl Registry {
    /// The registry of this process, made at the first call.
    pub(crate) fn get() -> &'static Self {
        static REGISTRY: OnceLock<Registry> = OnceLock::new();
        REGISTRY.get_or_init(Self::collect)
    }

    fn collect() -> Self {
        let mut operations = HashMap::default();
        for function in records::recorded() {
            // SAFETY: P2: the section is ours, and `Operation` records describing functions only.
            let describe = unsafe { std::mem::transmute::<*const (), Describe>(function) };
            operations.insert(address::offset_at(function), describe());
        }
        let mut sorted: Vec<_> = operations.iter().collect();
        sorted.sort_unstable_by_key(|(offset, _)| **offset);
        let mut hasher = FixedState::with_seed(0).build_hasher();
        for (offset, operation) in sorted {
            hasher.write_i32(*offset);
            hasher.write(operation.name().as_bytes());
            hasher.write_usize(operation.arguments());
            hasher.write_usize(operation.result());
        }
        Self { operations, digest: hasher.finish() }
    }

    /// The operation with this identity, if there is one.
    #[inline]
    pub(crate) fn find(&self, identity: i32) -> Option<&'static Operation> {
        self.operations.get(&identity).copied()
    }

    /// The same in all processes of one program.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// The operations with their places, in order and each once, in the form that another program gets.
    pub(crate) fn describe(&self) -> Vec<Described> {
        let mut names: Vec<_> = self.operations.values().map(|operation| operation.name()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| (ClosurePath(name).to_string(), Places(name).to_string())).collect()
    }
}

/// The name of an operation, and its places as they are written after it.
pub(crate) type Described = (String, String);
