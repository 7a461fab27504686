//! libibverbs as C has it: the only place that knows its types.

mod types;
