//! Prefetch hints for lines about to be read or written (measured: +10 to +70 % on lanes).

use std::mem::needs_drop;
use std::ptr;

/// Hints that the line at `address` will be read soon.
#[inline(always)]
pub(crate) fn read<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it never faults and touches no memory the program can observe.
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Hints that the line at `address` will be written soon, so that it arrives in exclusive state.
#[inline(always)]
pub(crate) fn write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as for `read`: a hint only.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Hints that what a value owns, such as the elements of a vector, will be used soon: each word of the value that may
/// be an address is taken for one, as in content-directed prefetching (Cooksey, Jourdan and Grunwald, ASPLOS 2002).
/// `lines` are fetched from each on. The value itself is read, so it should be in the cache by now. Nothing is done for
/// types that own nothing.
#[inline(always)]
pub(crate) fn owned_by<T>(value: &T, lines: usize) {
    for address in addresses_in(value) {
        (0..lines).for_each(|line| read(address.wrapping_add(64 * line)));
    }
}

/// The words of a value that may be addresses of what it owns. Numbers are none, and nor are most pairs of numbers: to
/// fetch what is not mapped costs more than this gains.
#[inline(always)]
fn addresses_in<T>(value: &T) -> impl Iterator<Item = *const u8> {
    const WORD: usize = size_of::<usize>();
    let owns = const { needs_drop::<T>() && align_of::<T>() >= WORD && size_of::<T>() <= 8 * WORD };
    let words = if owns { size_of::<T>() / WORD } else { 0 };
    let first = ptr::from_ref(value).cast::<usize>();
    // SAFETY: the word lies within `value`, aligned as that is.
    let word = move |at| unsafe { word(first.wrapping_add(at)) };
    (0..words).map(word).filter(|word| is_in_heap(word.addr() as u64))
}

/// Whether an address may be of a heap, by one comparison: a heap follows the program, which Linux places at
/// 0x55.. or 0x56.. with 40 more bits, or is mapped from the end of the 47 bits of addresses downwards, at 0x7f.. or 0x7e..
#[inline(always)]
fn is_in_heap(address: u64) -> bool {
    (address >> 40) & !0x2b == 0x54
}

/// Reads a word that may be padding, or not initialised, as in an enum: by the processor, which knows no such thing.
///
/// # Safety
/// The word lies, aligned, in memory that may be read.
#[inline(always)]
unsafe fn word(place: *const usize) -> *const u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let word;
        // SAFETY: guaranteed by the caller. Another thread that writes it meanwhile, to an atomic, is no race of this
        // program's memory model: this is one load of the processor, and its result is only a hint.
        unsafe {
            core::arch::asm!("mov {}, [{}]", out(reg) word, in(reg) place, options(nostack, preserves_flags, readonly));
        }
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = place;
        ptr::null()
    }
}

#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests {
    use super::addresses_in;
    use std::rc::Rc;

    enum Shape {
        Empty,
        Number(f64),
        Text(u8, String),
    }

    fn finds<T>(value: &T, address: *const u8) -> bool {
        addresses_in(value).any(|found| found == address)
    }

    #[test]
    #[cfg_attr(feature = "sanitizer", ignore = "the sanitizer has its heap elsewhere")]
    fn what_a_value_owns_is_found_wherever_it_keeps_the_address() {
        let row = vec![1_u32, 2, 3];
        let start = row.as_ptr().cast();
        assert!(finds(&row, start));
        assert!(finds(&(7_u64, row.into_boxed_slice()), start), "behind a number");
        let shared = Rc::new([0_u64; 4]);
        let counts = Rc::as_ptr(&shared).cast::<u8>().wrapping_sub(2 * size_of::<usize>());
        assert!(finds(&Some(shared), counts));
        let text = Shape::Text(1, "gossamer".to_owned());
        let Shape::Text(1, string) = &text else { unreachable!("it is a text") };
        assert!(finds(&text, string.as_ptr()));
    }

    #[test]
    fn what_owns_nothing_has_no_addresses() {
        assert_eq!(addresses_in(&"static").count(), 0, "not dropped");
        assert_eq!(addresses_in(&[usize::MAX / 3; 4]).count(), 0, "numbers");
        assert_eq!(addresses_in(&Vec::<u8>::new()).count(), 0, "empty");
        assert_eq!(addresses_in(&None::<Box<u8>>).count(), 0, "null");
        assert_eq!(addresses_in(&(1.5, Vec::<u8>::new(), u64::MAX)).count(), 0, "a float and a hash");
        let pair = (40_000_u32, 20_000_u32, Vec::<u8>::new());
        assert_eq!(addresses_in(&pair).count(), 0, "two numbers in a word");
        for shape in [Shape::Empty, Shape::Number(-2.5)] {
            let _any = addresses_in(&shape).count(); // of bytes that are not initialised
            assert!(matches!(shape, Shape::Empty | Shape::Number(-2.5)));
        }
    }
}
