//! Records in a section of the executable: one for each instance of a generic function that the compiler made, even for
//! those that this process never calls. No static can hold them, since none can name the parameters of the function.

use std::ffi::c_void;

/// Puts the address of a function into the section, in every instance of the function that it is written in. The address is
/// relative to the record, so that the loader has nothing to do. `R`: the linker keeps the section, and what it refers to.
macro_rules! record {
    ($function:path) => {
        // SAFETY: directives for the assembler; no instruction is added.
        unsafe {
            std::arch::asm!(
                ".pushsection gossamer_ops,\"aR\",@progbits",
                ".balign 8",
                ".quad {function} - .",
                ".popsection",
                function = sym $function,
                options(nomem, nostack, preserves_flags),
            )
        }
    };
}

pub(crate) use record;

unsafe extern "C" {
    /// A section, from here…
    static __start_gossamer_ops: c_void;
    /// … to here, as the linker says.
    static __stop_gossamer_ops: c_void;
}

/// The addresses of the recorded functions.
pub(crate) fn recorded() -> impl Iterator<Item = *const ()> {
    let (start, stop) = (&raw const __start_gossamer_ops, &raw const __stop_gossamer_ops);
    let bytes = stop as usize - start as usize;
    (0..bytes / size_of::<isize>()).map(move |index| {
        let record = start.cast::<isize>().wrapping_add(index);
        // SAFETY: P2: inside the section, which is ours, consists of aligned words and is never written.
        let distance = unsafe { record.read() };
        record.wrapping_byte_offset(distance).cast()
    })
}
