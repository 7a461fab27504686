//! Addresses of statics, and of instructions, relative to the loaded image, so that an identity does not depend on where the
//! loader put the program (address space randomisation stays on).

unsafe extern "C" {
    /// The start of the image that this code is linked into, defined by the linker (GNU ld, gold, lld, mold alike). A
    /// static of our own does not work: link-time optimisation gives each codegen unit its own copy of a constant one.
    static __ehdr_start: u8;
    /// The end of its code.
    static etext: u8;
}

/// The address every offset is measured from.
#[inline(always)]
pub(super) fn base() -> *const u8 {
    &raw const __ehdr_start
}

/// The signed distance of a static of this image from the start of the image.
///
/// # Panics
/// If the static lies in another image, more than 2 GiB away: delegated closures must be linked into the
/// same executable as the runtime.
#[inline(always)]
pub(crate) fn offset_of<T>(item: &'static T) -> i32 {
    offset_at(item)
}

/// Like `offset_of`, for an address.
#[inline(always)]
pub(crate) fn offset_at<T>(address: *const T) -> i32 {
    let distance = (address as isize).wrapping_sub(base() as isize);
    match i32::try_from(distance) {
        Ok(offset) => offset,
        Err(_) => another_image(),
    }
}

const ANOTHER_IMAGE: &str = "the program lies in another shared object than the gossamer runtime, so that delegated closures \
    are not found; link both into one executable (do not build with `-C prefer-dynamic`, nor gossamer into a `dylib`)";

#[cold]
#[inline(never)]
fn another_image() -> ! {
    panic!("{ANOTHER_IMAGE}")
}

/// Checks that the library and the program are one image. Called from a generic function that the program's own closure
/// instantiates: that one is compiled into the program, while non-generic code is compiled into the library.
///
/// # Errors
/// What to tell the user.
#[inline(always)]
pub(crate) fn check_single() -> Result<(), &'static str> {
    if base() == base_of_library() { Ok(()) } else { Err(ANOTHER_IMAGE) }
}

#[inline(never)]
fn base_of_library() -> *const u8 {
    base()
}

/// The address of the static at `offset` from the start of the image.
#[inline(always)]
pub(crate) fn at_offset<T>(offset: i32) -> *const T {
    base().wrapping_offset(offset as isize).cast()
}

/// The distance of an instruction from the start of the image, if it lies in the image. Async-signal-safe.
pub(crate) fn code_offset(instruction: usize) -> Option<usize> {
    let code = base() as usize..&raw const etext as usize;
    code.contains(&instruction).then(|| instruction - code.start)
}
