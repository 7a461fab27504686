//! Changes of what a closure captures.

use quote::ToTokens;

use super::{assert_rewritten, parse, rewrite_function};

/// The number of errors in the rewritten function.
fn errors(source: &str) -> usize {
    let mut function = parse(source);
    rewrite_function(&mut function);
    function.into_token_stream().to_string().matches("compile_error").count()
}

#[test]
fn a_method_that_changes_a_captured_collection_is_an_error() {
    for source in [
        "fn f(t: Trust<u64>) { let mut seen = Vec::new(); t.apply(|t| seen.push(*t)); }",
        "fn f(t: Trust<u64>) { let seen = vec![1]; t.apply(|t| { (seen).extend([*t]); seen.clear() }); }",
        "fn f(t: Trust<u64>, mut seen: HashSet<u64>) { t.apply(|t| [*t].iter().for_each(|n| drop(seen.insert(*n)))); }",
        "fn f(t: Trust<[u64; 2]>) { let mut out = [0; 2]; t.apply(|t| out.copy_from_slice(t)); }",
        "fn f() { let mut text = format!(\"{}\", 1); par_for_each(0..9, move |_| text.push('a')); }",
    ] {
        assert_eq!(errors(source), 1, "{source}");
    }
}

#[test]
fn a_method_that_may_not_change_a_capture_or_only_a_copy_is_none() {
    for source in [
        "fn f(t: Trust<u64>) { let mut seen = Vec::new(); t.apply(move |t| seen.push(*t)); }",
        "fn f(t: Trust<u64>) { let mut seen = Vec::new(); t.apply(|t| { let mut seen = seen; seen.push(*t) }); }",
        "fn f(t: Trust<u64>) { let mut seen = Vec::new(); t.apply(|t| seen.len()); seen.push(1); }",
        "fn f(t: Trust<u64>, map: DistMap<u64, u64>) { t.apply(|t| map.insert(*t, 1)); }",
        "fn f(t: Trust<u64>, seen: &mut Vec<u64>) { t.apply(|t| seen.push(*t)); }",
    ] {
        assert_eq!(errors(source), 0, "{source}");
    }
}

#[test]
fn a_variable_whose_copy_a_method_may_change_may_have_its_mut() {
    assert_rewritten(
        "fn add(t: Trust<u64>, mut a: Stat) { t.apply(|t| a.add(*t)); }",
        "#[allow(unused_mut)] fn add(t: Trust<u64>, mut a: Stat) {
            t.__apply_with((a,), const { |t, (a,)| { place!{} a.add(*t) } });
        }",
    );
    assert_rewritten(
        "fn add(t: Trust<u64>, mut a: u64) { t.apply(|t| *t + a); }",
        "fn add(t: Trust<u64>, mut a: u64) { t.__apply_with((a,), const { |t, (a,)| { place!{} *t + a } }); }",
    );
}
