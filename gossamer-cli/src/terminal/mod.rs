//! Standard input and output, and text that is fit for them.
//!
//! Given bytes and text, it yields lines, tables, and what a terminal may show. All that it knows of nodes is their
//! numbers.
//!
//! | part | |
//! |---|---|
//! | [`stream`] | which of the two outputs |
//! | [`input`], [`printer`], [`file_printer`] | threads that read standard input, that write to an output, to files |
//! | [`lines`], [`table`], [`printable`] | output cut into marked lines; tables; text from elsewhere |
//! | [`flood`] | lines that others can provoke |

pub mod file_printer;
pub mod flood;
pub mod input;
pub mod lines;
pub mod printable;
pub mod printer;
pub mod stream;
pub mod table;
