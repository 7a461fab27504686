//! What is known of a type about the bytes that its values travel as.

use crate::wire::NoRef;

/// How a value may be copied to another process of the same program. Bytes of padding never are: they may be what is left of
/// another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As its bytes, and any bytes are a value: numbers, and arrays of them.
    Plain,
    /// As its bytes, and any bytes are a value, of which only the compiler knows where its parts lie: tuples and structs of plain values without
    /// padding.
    Packed,
    /// As its bytes, of which none is padding. `NoRef::encode` makes as many.
    Dense,
    /// By `NoRef::encode`, into this many bytes at most. It does not refuse, does not panic, and runs no code of the program.
    Bounded(usize),
    /// By `NoRef::encode`.
    Unbounded,
    /// Not at all, or not every value: something in it stays in the process that made it.
    Stays,
}

/// A part of a value: a field, or an element of a tuple.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    shape: Shape,
    size: usize,
}

impl Component {
    pub(crate) const fn of<T: NoRef>() -> Self {
        Self { shape: T::SHAPE, size: size_of::<T>() }
    }

    /// A part of this shape, which is not dense.
    pub(crate) const fn new(shape: Shape) -> Self {
        Self { shape, size: 0 }
    }

    /// The shape of a value of `size` bytes that consists of these.
    pub(crate) const fn all(size: usize, components: &[Self]) -> Shape {
        let (mut are_plain, mut are_dense, mut bytes, mut most, mut index) = (true, true, 0, Some(0), 0);
        while index < components.len() {
            let Self { shape, size } = components[index];
            if shape.stays() {
                return Shape::Stays;
            }
            are_plain &= shape.is_plain();
            are_dense &= shape.is_dense();
            bytes += size;
            most = sum(most, shape.most(size));
            index += 1;
        }
        match most {
            // What is larger than its parts has padding.
            _ if are_plain && bytes == size => Shape::Packed,
            _ if are_dense && bytes == size => Shape::Dense,
            Some(most) => Shape::Bounded(most),
            None => Shape::Unbounded,
        }
    }

    /// The shape of so many of these in a row. Not counted one by one: the compiler gives up at a million.
    pub(crate) const fn row(self, count: usize) -> Shape {
        match self.shape {
            _ if count == 0 => Shape::Dense,
            Shape::Bounded(most) => match most.checked_mul(count) {
                Some(most) => Shape::Bounded(most),
                None => Shape::Unbounded,
            },
            other => other,
        }
    }

    /// The shape of a value that is one of these, behind a tag of this many bytes.
    pub(crate) const fn any(tag: usize, components: &[Self]) -> Shape {
        let (mut most, mut index) = (Some(0), 0);
        while index < components.len() {
            if components[index].shape.stays() {
                return Shape::Stays;
            }
            most = max(most, components[index].shape.most(components[index].size));
            index += 1;
        }
        match sum(Some(tag), most) {
            Some(most) => Shape::Bounded(most),
            None => Shape::Unbounded,
        }
    }
}

impl Shape {
    /// The bytes that `NoRef::encode` makes of a value of `size` bytes at most, if there is a bound.
    pub(crate) const fn most(self, size: usize) -> Option<usize> {
        match self {
            Self::Plain | Self::Packed | Self::Dense => Some(size),
            Self::Bounded(most) => Some(most),
            Self::Unbounded | Self::Stays => None,
        }
    }

    /// Whether a value may have to stay in the process that made it.
    pub(crate) const fn stays(self) -> bool {
        matches!(self, Self::Stays)
    }

    /// Whether a value travels as its bytes, and any bytes are one.
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Packed)
    }

    /// Whether a value travels as its bytes.
    pub(crate) const fn is_dense(self) -> bool {
        matches!(self, Self::Plain | Self::Packed | Self::Dense)
    }
}

const fn sum(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => one.checked_add(other),
        _ => None,
    }
}

const fn max(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one > other { one } else { other }),
        _ => None,
    }
}
