//! The macros of gossamer: [`macro@main`], [`macro@delegate`] and the [`NoRef`](derive@NoRef) derive.
//!
//! Each macro parses its item, checks it and expands it, and reports all mistakes of the item at once, with messages
//! from one catalogue (`messages.rs`). After a mistake the item is emitted unchanged, so that one mistake gives one
//! error.
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
/// The function takes no parameters; its result is returned unchanged. It may return whatever `main` may return,
/// including a `Result<(), Box<dyn Error>>`: since such an error cannot leave the worker's thread, another error with
/// the same texts, but without its type and its sources, is returned instead. For any other `Result` whose error is
/// not `Send`, the error is printed, as `main` would, and the process ends with status 1.
///
/// `#[gossamer::main(threads = N)]` sets the number of workers, as any constant expression; the default is one for each
/// processor that the process may use. The environment variable `GOSSAMER_THREADS` overrides both. Delegated closures
/// in the body may capture variables, as under [`macro@delegate`].
///
/// It may also be put on other functions than `main`, for example below `#[test]`.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    main_attribute::expand(arguments.into(), item.into()).into()
}

/// Lets delegated closures capture variables, and makes the methods of a property callable on its `Trust`.
///
/// # On a function
/// These closures may capture variables: those passed to `apply`, `launch` and their like (`apply_then`, `apply_async`,
/// `apply_unawaited`, `apply_into`, `try_apply`, `launch_read`, …), to `gossamer::spawn`, `gossamer::spawn_on` and a
/// trustee's `spawn`, to `Workers::each`, to the updates and loops of collections, and to `apply_batch` and `map_all`
/// of a `Sharded`. What they capture travels with them, by value:
///
/// - Each captured variable must be `NoRef`. The whole variable travels, even if only a field of it is used.
/// - It is moved (or copied) whether or not the closure is `move`. A `move` closure may change its copy of a `mut`
///   variable; other closures must not change what they capture, since the change would be lost.
/// - `self` cannot be captured: bind what the closure needs to a variable first.
///
/// The closures themselves become constants: they are put into `const { … }` blocks, where rustc does not let them
/// capture anything. Only such closures, and `fn`s, can go to other nodes. So this is done to all closures that are
/// written in the call itself: those that capture nothing, and those of the forms with explicit arguments
/// (`apply_with` and its like, `entrust_with`, `spawn_with`, `spawn_on_with`, `spawn_many_with`,
/// `rack::on_each_node`, `apply_archived`, `Sharded::with`, `Sharded::on`). A closure that is put into a variable
/// first can be written as a constant there: `let add = const { |sum: &mut u64, n: u64| *sum += n };`.
///
/// A closure at the end of a block counts as written in the call, and may capture what the block binds: `spawn({ let
/// trust = trust.clone(); move || … })`. The block runs where it stands. (It must not have a label or items in it, nor
/// be an argument of a form with explicit arguments.)
///
/// A closure in a variable may capture too, if the variable is only used for delegation: `let add = move |sum: &mut
/// u64| *sum += n;`, `trust.apply(add)`. Its first parameter must be declared as a `&mut` (for `spawn` it has none),
/// and only delegating calls may use it. The variable then holds the captures: it can be delegated as often as they
/// can be copied.
///
/// The macro sees names, not types, so it follows these rules:
///
/// - `x.apply(|…| …)` with captures is a delegation, whatever `x` is. For a method of that name on a type of your own
///   write `Type::apply(&x, |…| …)`, or put the closure in a variable (if its first parameter is not a `&mut`). So is
///   `x.apply_with(|…| …, arguments)`. The same goes for loops that rayon has as well: `x.par_sort_by_key(|…| …)` of a
///   `Vec` is `ParallelSliceMut::par_sort_by_key(&mut x[..], |…| …)` here. Otherwise rustc finds no method
///   `__apply_with` or `__par_sort_by_key_with`.
/// - A bare `spawn`, `par_for_each`, `on_each_node` or the like is gossamer's (rustc checks that it is);
///   `std::thread::spawn` is not.
/// - `x.spawn(|…| …)` is a delegation if `x` visibly is a trustee: `Trustee::here()`, an element of `Trustee::all()`,
///   `trust.trustee()`, a variable made from these, or one declared as `Trustee`.
///   In the same way `x.each(|…| …)` needs an `x` that visibly is a `Workers` (`Workers::all()`, `Workers::on(…)`), and
///   `x.retain(|…| …)` a `DistMap` or `DistSet` (`DistMap::new()`, a parameter `&DistMap<…>`). For others, such as the
///   fields of a struct, write `DistMap::retain(&x.map, |…| …)`.
/// - Variables inside macro calls count, including `{name}` in format strings. In a macro that is not from the
///   standard library, anything that looks like a use counts as one. Delegated closures inside a macro call are
///   rewritten if its arguments are expressions or statements, or the arms of `select!`.
/// - In a pattern that may fail to match, a capitalised name is a constant or a variant, not a variable.
///
/// A variable that the rules miss is still captured by the closure, which is a compile error (E0435 of rustc, which
/// says that a non-constant value is used): pass it with `apply_with`. If they miss a call, its closure can only be
/// used within its process; sending it to another node is a run-time error that says so. They do not see into the
/// body of a `macro_rules!`: write closures in it as constants.
///
/// # On the impl of a property
/// For each method `name(&mut self, arguments) -> R` (or `&self`), a `Trust` of the property gets
///
/// - `name(arguments) -> R`, which blocks,
/// - `name_then(arguments, callback)`, which calls back with the result on the worker that called,
/// - `name_async(arguments) -> Pending<R>`.
///
/// They have the visibility, the generics and the docs of the method. Arguments and results must be `NoRef`.
/// Functions without a receiver stay unchanged. In all functions of the impl, delegated closures may capture.
///
/// Only one impl of a type can have the attribute (a second one is error E0119); put methods that cannot be delegated
/// into an impl without it. The methods live in a struct beside the impl, named `AccountMethods` for a property
/// `Account`.
///
/// # On a module
/// It works like the attribute on every function and every inherent impl inside, also in nested modules, except that
/// methods that cannot be delegated are skipped, and `NoRef` is only required where a method is called. Several impls
/// of a type are combined if they have the same generics. An impl with its own attribute is left to that attribute.
#[proc_macro_attribute]
pub fn delegate(arguments: TokenStream, item: TokenStream) -> TokenStream {
    delegate::expand(arguments.into(), item.into()).into()
}

/// Derives `NoRef`: the type may travel to a trustee if each of its fields may.
///
/// Every type parameter gets the bound `NoRef`, and every field is checked, with the error on the offending field.
///
/// Put a macro that changes the type above the derive, so that the derive sees the final fields; below the derive, it
/// is an error.
#[proc_macro_derive(NoRef)]
pub fn derive_noref(item: TokenStream) -> TokenStream {
    noref::expand(item.into()).into()
}
