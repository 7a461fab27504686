//! Whether two vectors have the same layout on the same workers, and if not, what differs.

use crate::Trustee;
use crate::collections::DistVec;
use crate::worker;

/// Whether elements of the same index are on the same worker, in parts that are alike.
pub(super) fn are_aligned<T: 'static, U: 'static>(one: &DistVec<T>, other: &DistVec<U>) -> bool {
    one.spread == other.spread && one.trustees() == other.trustees()
}

/// How a vector differs from one with which it is not aligned: `with 4 elements in blocks of 2 over 2 workers`.
#[cold]
pub(super) fn difference<T: 'static, U: 'static>(one: &DistVec<T>, other: &DistVec<U>) -> String {
    if one.spread != other.spread {
        return format!("with {} {}", other.len(), other.spread.words());
    }
    let mut places = one.trustees().into_iter().zip(other.trustees()).enumerate();
    let apart = places.find(|(_, (one, other))| one != other);
    apart.map_or_else(String::new, |(part, (one, other))| {
        let (one, other) = (name(one), name(other));
        format!("on other workers (part {part} of the first is on {one}, that of the second on {other})")
    })
}

/// A worker as reports name it; of another runtime it would be confused with one of this.
fn name(trustee: Trustee) -> String {
    match worker::with(|here| here?.index_of(trustee.number())) {
        Some(index) => format!("worker {index}"),
        None => "a worker of another runtime".to_owned(),
    }
}
