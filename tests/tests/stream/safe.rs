//! Safe calls: blocks, `Read`, `Write`, `Seek`.
