//! Numbers, and arrays of numbers, as bytes in a file.

use crate::collections::files::{FileFailure, all_done, regular};
use crate::collections::layout::Spread;
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements, Layout};
use crate::trust::FibersOfCall;
use crate::wire::row::Row;
use crate::wire::shape::Shape;
use crate::worker::require_fiber;
use crate::{NoRef, Trust, Trustee, entrust, spawn_on_with, unblock};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are read or written at once.
pub(super) const PIECE: usize = 4 << 20;

impl<T: NoRef + Clone> DistVec<T> {
    /// The numbers (or arrays, such as `[f64; 2]`) of a file that contains only their bytes, in the byte order of
    /// this machine, in blocks over all workers. Use it to read what [`to_file`](Self::to_file) has written.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// # let path = std::env::temp_dir().join(format!("gossamer-numbers-{}", std::process::id()));
    /// DistVec::from_fn(1000, |index| index as u32).to_file(&path).unwrap();
    /// let numbers = DistVec::<u32>::from_file(&path).unwrap();
    /// assert_eq!(numbers.range(998..), [998, 999]);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// It compiles for `u8` to `u128`, `i8` to `i128`, `usize`, `isize`, `f32`, `f64`, and arrays of these.
    ///
    /// # Cost
    /// A fiber on each worker. A thread of the [pool](crate::unblock) reads the worker's part, 4 MiB at a time,
    /// straight to its final place. All nodes need the file under this path.
    ///
    /// # Errors
    /// If a node cannot read the file, or has no memory for it; if it is not a regular one, or ends within a number.
    ///
    /// # Panics
    /// Like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn from_file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_file_on(path, &Trustee::all())
    }

    /// Like [`from_file`](Self::from_file), in blocks over these workers. Only their nodes, and the caller's, need the
    /// file.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(3), || {
    /// use gossamer::{Trustee, collections::DistVec};
    /// # let path = std::env::temp_dir().join(format!("gossamer-some-numbers-{}", std::process::id()));
    /// DistVec::from_fn(1000, |index| index as u32).to_file(&path).unwrap();
    /// let numbers = DistVec::<u32>::from_file_on(&path, &Trustee::all()[1..]).unwrap();
    /// assert_eq!((numbers.get(998), numbers.trustees().len()), (998, 2));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// Like [`from_file`](Self::from_file).
    ///
    /// # Panics
    /// Like [`from_file`](Self::from_file); if `trustees` is empty.
    #[track_caller]
    pub fn from_file_on(path: impl AsRef<Path>, trustees: &[Trustee]) -> io::Result<Self> {
        const { assert_number::<T>() };
        let path = path.as_ref();
        let failed = |error: &io::Error| FileFailure::new("reading", path, error).into_error();
        let bytes = regular::length("from_file", "reading", path)?;
        let len = usize::try_from(bytes).ok().filter(|bytes| bytes.is_multiple_of(size_of::<T>()));
        let Some(len) = len.map(|bytes| bytes / size_of::<T>()) else {
            let text = format!("{bytes} bytes are not whole values of {} each", size_of::<T>());
            return Err(failed(&io::Error::new(ErrorKind::InvalidData, text)));
        };
        let (trustees, spread) = Layout::block(len).on(trustees).spread();
        let read = const {
            |(path, part, spread): (PathBuf, usize, Spread)| -> Result<Trust<Elements<T>>, FileFailure> {
                let (file, first) = (path.clone(), spread.index(part, 0));
                let values = unblock(move || read_numbers(&file, first, spread.len_of(part)));
                let values = values.map_err(|error| FileFailure::new("reading", &path, &error))?;
                Ok(entrust(Elements::new(part, spread, values)))
            }
        };
        let mut fibers = FibersOfCall::new();
        for (part, trustee) in trustees.into_iter().enumerate() {
            fibers.push(spawn_on_with(trustee, read, (path.to_owned(), part, spread)));
        }
        Ok(Self { parts: all_done(fibers.joined())?.into(), spread })
    }

    /// Writes the elements, numbers or arrays of numbers, to a file, in order and only as their bytes; the file is
    /// overwritten.
    ///
    /// It compiles for the types for which [`from_file`](Self::from_file) does.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// # let path = std::env::temp_dir().join(format!("gossamer-squares-{}", std::process::id()));
    /// let squares = DistVec::from_fn(1000, |index| (index * index) as u64);
    /// squares.to_file(&path).unwrap();
    /// assert_eq!(std::fs::metadata(&path).unwrap().len(), 8000);
    /// assert_eq!(DistVec::<u64>::from_file(&path).unwrap().get(30), 900);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker, which copies 4 MiB at a time; a thread of the [pool](crate::unblock) writes them. All
    /// nodes need the file under this path. A vector that is not in blocks is [put into blocks](Self::with_layout)
    /// first.
    ///
    /// # Errors
    /// If a node cannot write the file. Its content is then undefined.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn to_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        require_fiber("to_file");
        const { assert_number::<T>() };
        if self.spread.is_cyclic() {
            return self.with_layout(Layout::block(self.len()).on(&self.trustees())).to_file(path);
        }
        let path = path.as_ref();
        File::create(path)
            .and_then(|file| file.set_len((self.len() * size_of::<T>()) as u64))
            .map_err(|error| FileFailure::new("creating", path, &error).into_error())?;
        let write = const {
            |part: &OwnPart<T>, path: PathBuf| {
                write_numbers(part, &path).map_err(|error| FileFailure::new("writing", &path, &error))
            }
        };
        all_done(self.on_parts_as_is(write, path.to_owned())).map(drop)
    }
}

/// Refuses, at compile time, everything but numbers and arrays of numbers. Of other types not all byte patterns are
/// values, or only the compiler knows the layout.
pub(super) const fn assert_number<T: NoRef>() {
    assert!(
        matches!(T::SHAPE, Shape::Plain) && size_of::<T>() > 0,
        "only numbers, and arrays of them, are read from files, and written to them, as their bytes"
    );
}

/// `count` values, starting with the one at index `first`.
fn read_numbers<T: NoRef>(path: &Path, first: usize, count: usize) -> io::Result<Vec<T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let file = File::open(path)?;
    let room = std::alloc::Layout::array::<T>(count).ok().and_then(Row::with_room);
    let mut row = room.ok_or_else(|| io::Error::from(ErrorKind::OutOfMemory))?;
    let mut piece = vec![0; PIECE.min(row.room())];
    let (mut at, end) = (first * size_of::<T>(), (first + count) * size_of::<T>());
    while at < end {
        let piece = &mut piece[..PIECE.min(end - at)];
        file.read_exact_at(piece, at as u64)?;
        row.extend(piece).map_err(|malformed| io::Error::other(malformed.to_string()))?;
        at += piece.len();
    }
    row.into_vec().map_err(|malformed| io::Error::other(malformed.to_string()))
}

fn write_numbers<T: NoRef + Clone>(part: &OwnPart<T>, path: &Path) -> io::Result<()> {
    let file = std::sync::Arc::new(File::options().write(true).open(path)?);
    let (first, at_once) = (part.spread.index(part.number, 0), (PIECE / size_of::<T>()).max(1));
    for start in (0..part.len()).step_by(at_once) {
        let end = part.len().min(start + at_once);
        let values = part.elements.apply_here(|elements| elements[start..end].to_vec());
        let (file, at) = (file.clone(), (first + start) * size_of::<T>());
        unblock(move || file.write_all_at(Row::of(values).bytes(), at as u64))?;
    }
    Ok(())
}
