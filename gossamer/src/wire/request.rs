//! The header word of a request: which operation on which property.
//!
//! The thesis (3.2.8) sends a table of closures per batch and an index into it with each request; an identity
//! here is 32 bits, small enough to stand in every request, so that a request's header is one word in all.

/// The first word of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestHeader {
    /// Index of the property in its trustee's table.
    pub(crate) property: u32,
    /// Identity of the operation: an offset in the executable's image.
    pub(crate) operation: i32,
}

impl RequestHeader {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.property) << 32 | u64::from(self.operation as u32)
    }

    #[inline]
    pub(crate) fn unpack(word: u64) -> Self {
        Self { property: (word >> 32) as u32, operation: word as u32 as i32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_header_survives_packing() {
        for operation in [i32::MIN, -1, 0, i32::MAX] {
            let header = RequestHeader { property: u32::MAX, operation };
            assert_eq!(RequestHeader::unpack(header.pack()), header);
        }
    }
}
