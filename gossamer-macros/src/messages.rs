//! The catalogue of every error that the macros report themselves. Each has a case of the same name in `ui-tests/fail`.

/// An error message: what is wrong, and what to do.
pub(crate) struct Message {
    /// The name of its case in `ui-tests/fail`.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test of the catalogue reads it"))]
    case: &'static str,
    what: &'static str,
    help: &'static str,
}

impl Message {
    /// The text, with each `{part}` of it replaced.
    pub(crate) fn with(&self, parts: &[(&str, &str)]) -> String {
        let template = format!("{}\nhelp: {}", self.what, self.help);
        parts.iter().fold(template, |text, (part, value)| text.replace(&format!("{{{part}}}"), value))
    }
}

/// Defines the messages, and the list of them that the test reads.
macro_rules! catalogue {
    ($($name:ident in $case:literal: $what:literal, help $help:literal;)+) => {
        $(pub(crate) const $name: Message = Message { case: $case, what: $what, help: $help };)+

        #[cfg(test)]
        const CATALOGUE: &[Message] = &[$($name),+];
    };
}

catalogue! {
    // Delegated closures.
    ASSIGNMENT_LOST in "assignment_in_borrowing_closure":
        "this delegated closure runs on a copy of `{name}`: what it changes would be lost",
        help "return the value from the closure and assign it here, or make the closure `move` if only the copy is meant to change";
    ASSIGNMENT_IN_LOOP in "capture_changed_by_a_loop":
        "all calls of this loop's closure share `{name}`, so none can change it",
        help "combine the results of the calls with `par_fold` or `par_map_reduce`, or change what a `Trust`, a `DistCounter` or the like refers to";
    CAPTURE_OF_SELF in "capture_of_self":
        "a delegated closure cannot capture `self`",
        help "bind what the closure needs to a local variable first, for example `let name = self.name.clone();`";

    CAPTURE_BESIDE_ARGUMENTS in "capture_beside_explicit_arguments":
        "the closure of `{call}` takes its captures as arguments, and `{name}` is not among them",
        help "pass it with the others: `{call}(…, |…, ({name}, …)| …, ({name}, …))`";

    CAPTURE_IN_COMBINING_CLOSURE in "capture_in_combining_closure":
        "the closure that combines the results of `{call}` captures `{name}`, and can capture nothing",
        help "use `{name}` in the first closure, which makes the results and may capture, or on what the loop returns";

    // #[gossamer::main].
    MAIN_NOT_A_FUNCTION in "main_on_struct":
        "#[gossamer::main] must be put on a function",
        help "write `#[gossamer::main] fn main() { … }`";
    MAIN_ASYNC in "main_async":
        "#[gossamer::main] cannot be put on an `async fn`",
        help "remove `async`: the body runs as a fiber, so blocking calls block only that fiber";
    MAIN_PARAMETERS in "main_parameters":
        "a function marked #[gossamer::main] takes no parameters",
        help "read the command line with `std::env::args()`";
    MAIN_GENERIC in "main_generic":
        "a function marked #[gossamer::main] is not generic",
        help "call a generic function from it";
    MAIN_QUALIFIED in "main_qualified":
        "a function marked #[gossamer::main] is a plain `fn`, without `{qualifier}`",
        help "remove `{qualifier}`";
    MAIN_ARGUMENT_UNKNOWN in "main_argument_unknown":
        "#[gossamer::main] has no argument `{name}`",
        help "the only argument is `threads = N`, the number of workers";
    MAIN_ARGUMENT_TWICE in "main_argument_twice":
        "`threads` is given twice",
        help "keep one of them";
    MAIN_THREADS in "main_threads":
        "`threads` is the number of workers, at least 1",
        help "write for example `threads = 4`, or leave it out for one worker per core";

    // #[gossamer::delegate].
    DELEGATE_ARGUMENT in "delegate_argument":
        "#[gossamer::delegate] takes no arguments",
        help "write `#[gossamer::delegate]`";
    DELEGATE_WRONG_ITEM in "delegate_on_wrong_item":
        "#[gossamer::delegate] cannot be put on {item}",
        help "put it on a `fn`, on the `impl` of a property, or on a `mod` that contains these";
    DELEGATE_TRAIT_IMPL in "delegate_on_trait_impl":
        "#[gossamer::delegate] cannot be put on the impl of a trait",
        help "put it on the property's own impl (`impl Account { … }`), or on single functions of this impl, to let their delegated closures capture";
    DELEGATE_NO_BODY in "delegate_without_body":
        "#[gossamer::delegate] needs a function with a body",
        help "write the body here, or put the attribute where the body is written";
    PROPERTY_UNNAMED in "delegate_on_unnamed_type":
        "a property is a struct, an enum or a union with a name",
        help "wrap the type in a struct, and put the methods there";
    PROPERTY_LIFETIME in "delegate_with_lifetime":
        "a property outlives every borrow, so its type has no lifetime parameter",
        help "let the property own its data";

    // Methods of #[gossamer::delegate] impls.
    METHOD_TAKES_PROPERTY in "method_takes_property":
        "a trustee keeps its property, so a delegated method cannot take `{receiver}`",
        help "take `&mut self` or `&self`, or move the method to an impl without #[gossamer::delegate]";
    METHOD_BORROWS in "method_with_reference":
        "{kind} cannot travel to a trustee, so it cannot be part of {place}",
        help "use owned data, or move the method to an impl without #[gossamer::delegate]";
    METHOD_IMPL_TRAIT in "method_with_impl_trait":
        "a delegated method needs types with a name, so `impl Trait` cannot be part of {place}",
        help "use a type parameter, or a concrete type";
    METHOD_ASYNC in "method_async":
        "a delegated method runs on its trustee without waiting, so it cannot be `async`",
        help "remove `async`; callers get a future from `{name}_async`";
    METHOD_UNSAFE in "method_unsafe":
        "a delegated method is called from other workers, where its safety conditions cannot be checked, so it cannot be `unsafe`",
        help "check the conditions inside a safe method, or move the method to an impl without #[gossamer::delegate]";
    METHOD_NAME_TAKEN in "method_name_taken":
        "`{name}` is a method of every `Trust`, so it would hide this one",
        help "choose another name, or move the method to an impl without #[gossamer::delegate]";
    METHOD_NAME_COLLIDES in "method_name_collides":
        "`{name}` is also the name of the form of `{plain}` {form}, which #[gossamer::delegate] makes",
        help "choose another name, or move the method to an impl without #[gossamer::delegate]";

    // #[derive(NoRef)].
    NOREF_UNION in "noref_on_union":
        "`NoRef` cannot be derived for a union: which field is valid cannot be seen from its type",
        help "use an enum";
    NOREF_LIFETIME in "noref_with_lifetime":
        "a type with a lifetime parameter holds a reference, so it is not `NoRef`",
        help "let it own its data";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test fails by panicking")]

    use std::fs;
    use std::path::Path;

    use super::CATALOGUE;

    /// The part of a template before its first placeholder.
    fn start_of(template: &str) -> &str {
        template.split('{').next().unwrap_or_default()
    }

    #[test]
    fn every_message_is_shown_by_its_ui_test() {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/fail");
        for message in CATALOGUE {
            let shown = fs::read_to_string(cases.join(message.case).with_extension("stderr"));
            let shown = shown.expect(message.case);
            assert!(shown.contains(start_of(message.what)), "{}: not in its .stderr", message.what);
        }
    }
}
