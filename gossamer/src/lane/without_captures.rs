//! [`WithoutCaptures`]: the closures of loops.

/// A closure that is called many times, or on many workers, so has to be `Copy`; a bound with better messages.
///
/// It is implemented for all that is `Copy`, so a function that passes such a closure on can ask for either. What the closure
/// captures inside a marked function is sent along by the macros; that it captures nothing else is checked when the
/// program is built ([delegated closures](crate::Trust#delegated-closures)).
///
/// ```
/// use gossamer::{WithoutCaptures, collections::DistVec};
///
/// fn all_by<F: FnOnce(usize, &mut u64) + Send + WithoutCaptures + 'static>(numbers: &DistVec<u64>, change: F) {
///     numbers.par_for_each(change);
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let numbers = DistVec::filled(3, 1);
/// all_by(&numbers, |_, number| *number *= 2);
/// assert_eq!(numbers.to_vec(), [2, 2, 2]);
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "this closure captures variables that gossamer's macros do not send along",
    label = "it is called many times, and captures what is not `Copy`",
    note = "in a function marked #[gossamer::delegate] (or #[gossamer::main]) the macros send the captures of a closure along that is written in the call itself",
    note = "elsewhere hand them over with the `_with` form: `par_for_each_with(|index, element, captures| …, captures)` and the like"
)]
pub trait WithoutCaptures: Copy {}

#[diagnostic::do_not_recommend]
impl<F: Copy> WithoutCaptures for F {}
