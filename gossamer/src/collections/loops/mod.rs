//! Loops over all elements of a [`DistVec`](crate::collections::DistVec): a fiber on the worker of each part visits
//! the elements there.

mod chunks;
mod filter;
mod fold;
mod group;
mod largest;
mod map;
mod reduce;
mod scan;
mod select;
mod sort;
mod sort_by;
mod zip;
