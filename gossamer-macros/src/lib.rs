//! The macros of gossamer: [`macro@main`], [`macro@delegate`] and the [`NoRef`](derive@NoRef) derive.
//!
//! Each of them parses its item, checks it, and expands it, and reports all mistakes of the item at once, in the words of one catalogue
//! (`messages.rs`). After a mistake the item is emitted as it stands, so that one mistake gives one error.
//!
//! Use them through the crate `gossamer`, which exports them; the code they generate names it `::gossamer`.

mod captures;
mod delegate;
mod generics;
mod main_attribute;
mod messages;
mod methods;
mod noref;
mod report;
mod self_type;

use proc_macro::TokenStream;

/// Starts the runtime and runs the function's body in it, as a fiber.
///
/// The function takes no parameters; its result, if it has one, is given back as it is. It may be whatever `main` may return, also a
/// `Result<(), Box<dyn Error>>`: such an error cannot leave the worker's thread, so another one comes back, with its texts and without
/// its type and its sources. Of any other `Result` whose error is not `Send`, the error is printed, as `main` does, and the process ends
/// with status 1.
///
/// `#[gossamer::main(threads = N)]` sets
/// the number of workers, by any constant expression; without it there is one per core. The environment variable
/// `GOSSAMER_THREADS` overrides both. Delegated closures in the body may capture variables, as under [`macro@delegate`].
///
/// It may also stand on another function than `main`, for example below `#[test]`.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    main_attribute::expand(arguments.into(), item.into()).into()
}

/// Lets delegated closures capture variables, and makes the methods of a property callable on its `Trust`.
///
/// # On a function
/// Closures handed to `apply`, `apply_then`, `apply_async`, `try_apply`, `launch`, `launch_then`, `gossamer::spawn`,
/// `gossamer::spawn_on` and a trustee's `spawn` may capture variables. What they capture travels with them, by value:
///
/// - Each captured variable must be `NoRef`. All of it travels, also where only a field of it is used.
/// - It is moved (or copied) whether the closure is `move` or not. A `move` closure may change its copy of a `mut` variable;
///   any other closure must not change what it captures, since the change would be lost.
/// - `self` cannot be captured: bind what the closure needs to a variable first.
///
/// The closures themselves become constants: they are put in `const { … }` blocks, in which rustc lets them capture nothing. Only such
/// closures, and `fn`s, go to other nodes. So it is done to all closures that are written in the call itself: those that capture
/// nothing, and those of the forms with explicit arguments (`apply_with` and its like, `entrust_with`, `spawn_with`, `spawn_on_with`,
/// `spawn_many_with`, `rack::on_each_node`, `apply_archived`, `Sharded::with`, `Sharded::on`). One that is put into a variable first can
/// be written as a constant there: `let add = const { |sum: &mut u64, n: u64| *sum += n };`.
///
/// A closure that is put into a variable may capture too, if that is all that the variable is for: `let add = move |sum: &mut u64| *sum
/// += n;`, `trust.apply(add)`. It says that its first parameter is a `&mut` (or has none, for `spawn`), and nothing but delegating calls
/// uses it. The variable holds the captures then: it can be delegated as often as they can be copied.
///
/// The macro sees names, not types, so it goes by these rules:
///
/// - `x.apply(|…| …)` with captures is a delegation, whatever `x` is. For a method of that name on a type of your own write
///   `Type::apply(&x, |…| …)`, or put the closure in a variable (if its first parameter is no `&mut`). So is `x.apply_with(|…| …, arguments)`.
/// - A bare `spawn`, `spawn_on` or `spawn_…with` is gossamer's (rustc checks that it is); `std::thread::spawn` is not.
/// - `x.spawn(|…| …)` is a delegation where `x` visibly is a trustee: `Trustee::here()`, an element of `Trustee::all()`,
///   `trust.trustee()`, a variable made from these, or one declared as `Trustee`.
/// - Variables inside macro calls count, also `{name}` in format strings. Where a macro is not one of the standard library, whatever
///   looks like a use is taken for one. Delegated closures inside a macro call are rewritten if its arguments are expressions
///   or statements.
/// - In a pattern that may fail to match, a capitalised name is a constant or a variant, not a variable.
///
/// What the rules miss is still captured by the closure, which is a compile error (E0435, of rustc, in the words that this is no constant):
/// hand it over by `apply_with`. A call that they miss leaves its closure in its process; sending it to another node is an error at run
/// time that says so. They do not see into the body of a `macro_rules!`: closures in it are written as constants there.
///
/// # On the impl of a property
/// For each method `name(&mut self, arguments) -> R` (or `&self`), a `Trust` of the property gets
///
/// - `name(arguments) -> R`, which blocks,
/// - `name_then(arguments, callback)`, which calls back with the result on the worker that called,
/// - `name_async(arguments) -> Pending<R>`.
///
/// They have the visibility, the generics and the docs of the method. Arguments and results must be `NoRef`. Functions without
/// a receiver stay as they are. In all functions of the impl delegated closures may capture.
///
/// Only one impl of a type can have the attribute (another one is E0119); methods that cannot be delegated go in an impl without
/// it. The methods live in a struct beside the impl, named `AccountMethods` for a property `Account`.
///
/// # On a module
/// As if it stood on every function and every inherent impl inside, also in nested modules, but methods that cannot be
/// delegated are passed over, and `NoRef` is asked for only where a method is called. Several impls of a type are
/// taken together if they have the same generics. An impl with an attribute of its own is left to that.
#[proc_macro_attribute]
pub fn delegate(arguments: TokenStream, item: TokenStream) -> TokenStream {
    delegate::expand(arguments.into(), item.into()).into()
}

/// Derives `NoRef`: the type may travel to a trustee if each of its fields may.
///
/// Every type parameter is bounded by `NoRef`, and every field is checked, with the error on the field at fault.
///
/// A macro that changes the type stands above the derive, so that this sees the fields as they are; below it, it is an error.
#[proc_macro_derive(NoRef)]
pub fn derive_noref(item: TokenStream) -> TokenStream {
    noref::expand(item.into()).into()
}
