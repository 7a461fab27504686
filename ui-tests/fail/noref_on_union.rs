//! The derive on a union.

#[derive(Clone, Copy, gossamer::NoRef)]
union Bits {
    word: u32,
    bytes: [u8; 4],
}

fn main() {}
