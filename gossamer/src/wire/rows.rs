//! An encoded value of any size: its bytes, and the long rows of plain values that are kept apart.

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::wire::row::{Row, RowLayout};

/// The bytes refer to the rows by their order, and to each once (`LengthWord::Apart`).
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(super) bytes: Vec<u8>,
    pub(super) long: Vec<Row>,
}

impl Rows {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes, including those of all rows.
    pub(crate) fn bytes_of_all(&self) -> usize {
        self.bytes.len() + self.long.iter().map(|row| row.bytes().len()).sum::<usize>()
    }

    /// The bytes of a value without other rows.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        debug_assert!(self.long.is_empty(), "rows would be lost");
        self.bytes
    }

    /// Whether there are rows besides the bytes.
    pub(crate) fn has_long(&self) -> bool {
        !self.long.is_empty()
    }

    /// The bytes are row 0, then come the others; `None` after the last.
    pub(crate) fn row(&self, index: usize) -> Option<(RowLayout, &[u8])> {
        match index.checked_sub(1) {
            None => Some((RowLayout::of_bytes(&self.bytes), &self.bytes)),
            Some(index) => self.long.get(index).map(|row| (row.layout(), row.bytes())),
        }
    }

    /// Takes out a row, and leaves an empty one there.
    pub(crate) fn take(&mut self, index: usize) -> Option<Row> {
        match index.checked_sub(1) {
            None => Some(Row::of(std::mem::take(&mut self.bytes))),
            Some(index) => self.long.get_mut(index).map(std::mem::take),
        }
    }

    /// Puts back a row that was taken out.
    pub(crate) fn put_back(&mut self, index: usize, row: Row) {
        match index.checked_sub(1) {
            None => self.bytes = row.into_vec().unwrap_or_default(),
            Some(index) => self.long[index] = row,
        }
    }

    /// Rows that have arrived, the bytes first.
    ///
    /// # Errors
    /// If the first are no bytes.
    pub(crate) fn arrived(rows: Vec<Row>) -> Result<Self, Malformed> {
        let mut rows = rows.into_iter();
        let bytes = rows.next().ok_or_else(Malformed::instead_of::<Self>)?.into_vec()?;
        Ok(Self { bytes, long: rows.collect() })
    }
}

// SAFETY: (1) it owns its bytes and its rows. (2) The bytes, then as many rows as it has, each apart.
#[expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]
unsafe impl NoRef for Rows {
    fn encode(self, to: &mut Encoder) {
        self.bytes.encode(to);
        to.length(self.long.len());
        self.long.into_iter().for_each(|row| to.row(row));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let bytes = Vec::decode(from)?;
        let long = (0..from.length()?).map(|_| from.row()).collect::<Result<_, _>>()?;
        Ok(Self { bytes, long })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::row::LONG;
    use std::collections::VecDeque;

    type Mixed = (String, Vec<u64>, Vec<Option<u8>>, Vec<[u16; 3]>, VecDeque<u128>);

    fn mixed() -> Mixed {
        let few = vec![[1, 2, 3]; 10];
        ("x".repeat(LONG), (0..LONG as u64).collect(), vec![Some(1); LONG], few, vec![7; LONG].into())
    }

    /// The rows of a value as they arrive, in fragments.
    fn arrived() -> Vec<Row> {
        let rows = Encoder::marshal_in_rows(mixed()).unwrap().send();
        let whole = |(layout, bytes): (RowLayout, &[u8])| {
            let mut row = layout.allocate().unwrap();
            bytes.chunks(1000).for_each(|fragment| row.extend(fragment).unwrap());
            row
        };
        (0..).map_while(|index| rows.row(index).map(whole)).collect()
    }

    fn decoded(rows: Vec<Row>) -> Result<Mixed, Malformed> {
        Decoder::decoded_rows(&mut Rows::arrived(rows)?)
    }

    #[test]
    fn long_rows_travel_apart_and_come_together_again() {
        assert_eq!(arrived().len(), 4, "three rows are long and plain");
        assert_eq!(decoded(arrived()), Ok(mixed()));
    }

    #[test]
    fn rows_that_are_missing_or_of_another_type_are_refused() {
        for gone in 0..4 {
            let mut rows = arrived();
            rows.remove(gone);
            assert!(decoded(rows).is_err());
            let mut rows = arrived();
            rows.swap(gone, (gone + 1) % 4);
            assert!(decoded(rows).is_err());
        }
        let bytes = Encoder::encoded(mixed()).unwrap();
        assert_eq!(Decoder::decoded::<Mixed>(&bytes), Ok(mixed()));
        assert!(Decoder::decoded::<Mixed>(arrived()[0].bytes()).is_err(), "rows that are not there");
    }

    #[test]
    fn an_encoded_value_travels_in_another_with_its_rows_apart() {
        let inner = Encoder::marshal_in_rows(mixed()).unwrap().send();
        let places: Vec<_> = inner.long.iter().map(|row| row.bytes().as_ptr()).collect();
        let mut outer = Encoder::marshal_in_rows((7_u8, inner, String::from("behind"))).unwrap().send();
        let (seven, mut inner, behind) = Decoder::decoded_rows::<(u8, Rows, String)>(&mut outer).unwrap();
        assert_eq!((seven, behind.as_str()), (7, "behind"));
        assert!(inner.long.iter().map(|row| row.bytes().as_ptr()).eq(places), "a row was copied");
        assert_eq!(Decoder::decoded_rows(&mut inner), Ok(mixed()));
    }
}
