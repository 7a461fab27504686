//! The names that a format string mentions inline: `{name}`, `{name:?}`, `{:width$.precision$}`.

/// The names in `text`, in order of appearance, each as often as it appears. Text that is not a format string gives whatever it
/// happens to contain: rustc is the one to complain.
pub(crate) fn inline_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let placeholder = &rest[start + 1..];
        if let Some(escaped) = placeholder.strip_prefix('{') {
            rest = escaped;
            continue;
        }
        let Some(end) = placeholder.find('}') else { break };
        names_in_placeholder(&placeholder[..end], &mut names);
        rest = &placeholder[end + 1..];
    }
    names
}

/// Reads what stands between the braces: `[argument][:specification]`.
fn names_in_placeholder(placeholder: &str, names: &mut Vec<String>) {
    let (argument, specification) = placeholder.split_once(':').unwrap_or((placeholder, ""));
    names.extend(name(argument.trim()));
    let (width, precision) = match without_fill(specification).split_once('.') {
        Some((width, precision)) => (width, Some(precision)),
        None => (without_fill(specification), None),
    };
    names.extend(counted_by(width.trim_start_matches(['+', '-', '#', '0'])));
    names.extend(precision.and_then(counted_by));
}

/// The specification without `[[fill]align]`: the fill may be any character, also `$` or `.`.
fn without_fill(specification: &str) -> &str {
    let is_alignment = |letter: char| matches!(letter, '<' | '^' | '>');
    let mut letters = specification.chars();
    match (letters.next(), letters.next()) {
        (Some(_), Some(alignment)) if is_alignment(alignment) => letters.as_str(),
        (Some(alignment), _) if is_alignment(alignment) => &specification[alignment.len_utf8()..],
        _ => specification,
    }
}

/// The name of a count `name$`, at the start of `specification`.
fn counted_by(specification: &str) -> Option<String> {
    name(specification.split_once('$')?.0)
}

/// `text` if it is a name; numbers are positions, and `_` is none.
fn name(text: &str) -> Option<String> {
    let is_start = |letter: char| letter == '_' || letter.is_alphabetic();
    let is_rest = |letter: char| letter == '_' || letter.is_alphanumeric();
    let mut letters = text.chars();
    (letters.next().is_some_and(is_start) && letters.all(is_rest)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::inline_names;

    #[test]
    fn names_are_found_in_every_position() {
        assert_eq!(inline_names("{a} {b:?} {c:>8}"), ["a", "b", "c"]);
        assert_eq!(inline_names("{:w$} {:.p$} {x:w$.p$} {x:+#08.3}"), ["w", "p", "x", "w", "p", "x"]);
        assert_eq!(
            inline_names("{x:*^w$} {x:$>w$} {x:.<w$.p$e} { x }"),
            ["x", "w", "x", "w", "x", "w", "p", "x"]
        );
        assert_eq!(inline_names("{größe} {_x}"), ["größe", "_x"]);
    }

    #[test]
    fn escapes_numbers_and_stray_braces_name_nothing() {
        assert!(inline_names("{} {0} {:?} {:1$} {0:.*} {:5.2}").is_empty());
        assert!(inline_names("{{escaped}} }} {{").is_empty());
        assert!(inline_names("open {name").is_empty());
        assert_eq!(inline_names("{{{name}}}"), ["name"]);
    }
}
