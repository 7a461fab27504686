//! [`NoRef`] for the standard library's containers: they own what they hold, and travel element by element.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::captured::Travels;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::wire::shape::{Component, Shape};
use core::cell::{Cell, OnceCell, RefCell};
use core::cmp::Reverse;
use core::hash::{BuildHasher, Hash};
use core::mem::ManuallyDrop;
use core::num::{Saturating, Wrapping};
use core::ops::ControlFlow;
use core::task::Poll;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Implements `NoRef` for a type that is taken apart into another one, and made of it again.
macro_rules! as_another {
    ($($kind:ty, $other:ty, [$($element:ident: $bound:path);*] $(@ $shape:expr)?, $apart:expr, $whole:expr;)+) => {
        $(
            // SAFETY: (1) it owns all it holds, and what it holds is `NoRef`. (2) It reads what the other type wrote.
            #[diagnostic::do_not_recommend]
            unsafe impl<$($element: NoRef + $bound),*> NoRef for $kind {
                $(const SHAPE: Shape = $shape;)?

                #[inline]
                fn encode(self, to: &mut Encoder) {
                    let apart: fn(Self) -> $other = $apart;
                    apart(self).encode(to);
                }

                #[inline]
                fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                    let whole: fn($other) -> Option<Self> = $whole;
                    whole(<$other>::decode(from)?).ok_or_else(Malformed::instead_of::<Self>)
                }
            }
        )+
    };
}

pub(super) use as_another;

// The bound `Send` says nothing new: `NoRef` implies it.
as_another! {
    String, Vec<u8>, [], String::into_bytes, |bytes| String::from_utf8(bytes).ok();
    OsString, Vec<u8>, [], OsString::into_vec, |bytes| Some(OsString::from_vec(bytes));
    PathBuf, OsString, [], PathBuf::into_os_string, |path| Some(PathBuf::from(path));
    CString, Vec<u8>, [], CString::into_bytes, |bytes| CString::new(bytes).ok();
    Box<str>, String, [], String::from, |text| Some(text.into_boxed_str());
    Box<OsStr>, OsString, [], OsString::from, |text| Some(text.into_boxed_os_str());
    Box<Path>, PathBuf, [], PathBuf::from, |path| Some(path.into_boxed_path());
    Box<CStr>, CString, [], CString::from, |text| Some(text.into_boxed_c_str());
    RandomState, (), [], |_| (), |()| Some(Self::new());
    Box<[T]>, Vec<T>, [T: Send], Vec::from, |elements| Some(elements.into_boxed_slice());
    Box<T>, T, [T: Send], |boxed| *boxed, |value| Some(Box::new(value));
    VecDeque<T>, Vec<T>, [T: Send], Vec::from, |elements| Some(elements.into());
    LinkedList<T>, Vec<T>, [T: Send], |list| list.into_iter().collect(), |elements| Some(elements.into_iter().collect());
    BinaryHeap<T>, Vec<T>, [T: Ord], BinaryHeap::into_vec, |elements| Some(elements.into());
    BTreeSet<T>, Vec<T>, [T: Ord], |set| set.into_iter().collect(), |elements| Some(elements.into_iter().collect());
    BTreeMap<K, V>, Vec<(K, V)>, [K: Ord; V: Send], |map| map.into_iter().collect(), |pairs| Some(pairs.into_iter().collect());
    Cell<T>, T, [T: Send] @ Component::all(size_of::<Self>(), &[Component::of::<T>()]), Cell::into_inner, |value| Some(Cell::new(value));
    RefCell<T>, T, [T: Send], RefCell::into_inner, |value| Some(RefCell::new(value));
    OnceCell<T>, Option<T>, [T: Send], OnceCell::into_inner, |value| Some(value.map_or_else(OnceCell::new, OnceCell::from));
    Option<T>, Result<T, ()>, [T: Send] @ Result::<T, ()>::SHAPE, |option| option.ok_or(()), |result| Some(result.ok());
    Poll<T>, Option<T>, [T: Send] @ Option::<T>::SHAPE,
        |poll| match poll { Poll::Ready(value) => Some(value), Poll::Pending => None },
        |value| Some(value.map_or(Poll::Pending, Poll::Ready));
    ControlFlow<B, C>, Result<C, B>, [B: Send; C: Send] @ Result::<C, B>::SHAPE,
        |flow| match flow { ControlFlow::Continue(value) => Ok(value), ControlFlow::Break(value) => Err(value) },
        |result| Some(result.map_or_else(ControlFlow::Break, ControlFlow::Continue));
}

// SAFETY: (1) a vector owns its elements and its buffer, and every element is `NoRef`.
unsafe impl<T: NoRef> NoRef for Vec<T> {
    #[inline]
    fn encode(self, to: &mut Encoder) {
        to.elements(self);
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        from.elements()
    }
}

// SAFETY: (1) it holds one of two values, both `NoRef`.
unsafe impl<T: NoRef, E: NoRef> NoRef for Result<T, E> {
    const SHAPE: Shape = Component::any(1, &[Component::of::<T>(), Component::of::<E>()]);

    #[inline]
    fn encode(self, to: &mut Encoder) {
        to.bytes(&[self.is_ok().into()]);
        match self {
            Ok(value) => value.encode(to),
            Err(error) => error.encode(to),
        }
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        match from.bytes(1)? {
            [0] => E::decode(from).map(Err),
            [1] => T::decode(from).map(Ok),
            _ => Err(Malformed::instead_of::<Self>()),
        }
    }
}

/// Implements `NoRef` for types that hold one value, in a field that all can see.
macro_rules! around_one {
    ($($kind:ident),+) => {
        $(
            // SAFETY: (1) it holds its value and nothing else.
            unsafe impl<T: NoRef> NoRef for $kind<T> {
                const SHAPE: Shape = T::SHAPE;

                #[inline]
                fn encode(self, to: &mut Encoder) {
                    self.0.encode(to);
                }

                #[inline]
                fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                    T::decode(from).map(Self)
                }
            }
        )+
    };
}

around_one! { Reverse, Wrapping, Saturating }

// SAFETY: (1) it holds its value and nothing else.
unsafe impl<T: NoRef> NoRef for ManuallyDrop<T> {
    const SHAPE: Shape = T::SHAPE;

    fn encode(self, to: &mut Encoder) {
        Self::into_inner(self).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        T::decode(from).map(Self::new)
    }
}

// SAFETY: (1) a map owns its keys, its values and its hasher, all `NoRef`.
unsafe impl<K: NoRef + Eq + Hash, V: NoRef, S: NoRef + BuildHasher + Clone> NoRef for HashMap<K, V, S> {
    fn encode(self, to: &mut Encoder) {
        self.hasher().clone().encode(to);
        to.elements(self.into_iter().collect::<Vec<(K, V)>>());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let hasher = S::decode(from)?;
        let pairs = from.elements::<(K, V)>()?;
        let mut map = Self::with_capacity_and_hasher(pairs.len(), hasher);
        map.extend(pairs);
        Ok(map)
    }
}

// SAFETY: (1) a set owns its elements and its hasher, all `NoRef`.
unsafe impl<T: NoRef + Eq + Hash, S: NoRef + BuildHasher + Clone> NoRef for HashSet<T, S> {
    fn encode(self, to: &mut Encoder) {
        self.hasher().clone().encode(to);
        to.elements(self.into_iter().collect::<Vec<T>>());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let hasher = S::decode(from)?;
        let elements = from.elements::<T>()?;
        let mut set = Self::with_capacity_and_hasher(elements.len(), hasher);
        set.extend(elements);
        Ok(set)
    }
}

/// Implements `NoRef` for tuples of the given elements and of every shorter row of them.
macro_rules! tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        // SAFETY: (1) a tuple holds its elements and nothing else, and each of them is `NoRef`.
        unsafe impl<$first: Travels, $($rest: Travels),*> NoRef for ($first, $($rest,)*) {
            const SHAPE: Shape =
                Component::all(size_of::<Self>(), &[Component::of::<$first>(), $(Component::of::<$rest>()),*]);

            #[inline]
            #[expect(non_snake_case, reason = "elements are named as their types")]
            fn encode(self, to: &mut Encoder) {
                let ($first, $($rest,)*) = self;
                $first.encode(to);
                $($rest.encode(to);)*
            }

            #[inline]
            fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                Ok(($first::decode(from)?, $($rest::decode(from)?,)*))
            }
        }
        tuples! { $($rest)* }
    };
}

tuples! { A B C D E F G H I J K L }
