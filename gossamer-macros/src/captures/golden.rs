//! Golden expansions: what functions look like after the rewriting.

use quote::ToTokens;
use syn::{ItemFn, parse_str};

use super::rewrite_function;

mod changes;
mod places;
mod receivers;

/// Checks that `source` is rewritten to `expected`; layout does not count, nor do checks of imports.
#[track_caller]
fn assert_rewritten(source: &str, expected: &str) {
    let mut function = parse(source);
    rewrite_function(&mut function);
    let rewritten = without_checks(without_layout(&function.into_token_stream().to_string()));
    assert_eq!(rewritten.replace("::gossamer::__private::place!", "place!"), without_layout(expected));
}

fn without_layout(source: &str) -> String {
    source.split_whitespace().collect()
}

fn without_checks(mut rewritten: String) -> String {
    while let Some(start) = rewritten.find("{#[diagnostic::on_unimplemented") {
        let mut depth = 0;
        let is_end = |byte: &u8| {
            depth += i32::from(*byte == b'{') - i32::from(*byte == b'}');
            depth == 0
        };
        // Braces in the texts of a check come in pairs, too.
        let len = rewritten.as_bytes()[start..].iter().position(is_end).map_or(0, |last| last + 1);
        assert!(len > 0, "{rewritten}");
        rewritten.replace_range(start..start + len, "");
    }
    rewritten
}

#[track_caller]
fn parse(source: &str) -> ItemFn {
    match parse_str(source) {
        Ok(function) => function,
        Err(error) => panic!("{error}: {source}"),
    }
}

#[test]
fn captures_become_a_parameter_and_an_argument() {
    assert_rewritten(
        "fn add(total: &Trust<u64>, a: u64, mut b: u64) { total.apply(move |total| *total += a + b); }",
        "#[allow(unused_mut)] fn add(total: &Trust<u64>, a: u64, mut b: u64) {
            total.__apply_with((a, b,), const { move |total, (a, mut b,)| { place!{} *total += a + b } });
        }",
    );
}

#[test]
fn a_closure_that_captures_nothing_becomes_a_constant_and_its_call_stays() {
    assert_rewritten(
        "fn reset(total: &Trust<u64>, a: u64) { total.apply(|total| { let a = 1; *total = a }); }",
        "fn reset(total: &Trust<u64>, a: u64) { total.apply(const { |total| { place!{} let a = 1; *total = a } }); }",
    );
}

#[test]
fn captures_come_before_the_closure_whatever_other_arguments_there_are() {
    assert_rewritten(
        "fn add(t: Trust<u64>, r: &Replies<u8, u64>, a: u64) { t.apply_into(r, 7, |t| *t + a); }",
        "fn add(t: Trust<u64>, r: &Replies<u8, u64>, a: u64) { t.__apply_with_into(r, 7, (a,), const { |t, (a,)| { place!{} *t + a } }); }",
    );
    assert_rewritten(
        "fn add(l: &[Trust<Latch<u64>>], a: u64) { Trust::launch_all(l, |l| *l[0] + a); }",
        "fn add(l: &[Trust<Latch<u64>>], a: u64) { Trust::__launch_all_with(l, (a,), const { |l, (a,)| { place!{} *l[0] + a } }); }",
    );
    assert_rewritten(
        "fn add(s: &Sharded<u8, u64>, i: Vec<(u8, u64)>, a: u64) { s.apply_batch(i, |s, _, n| *s += n + a); s.map_all(|s| *s + a); }",
        "fn add(s: &Sharded<u8, u64>, i: Vec<(u8, u64)>, a: u64) {
            s.__apply_batch_with(i, (a,), const { |(a,)| { place!{} move |s, _, n| *s += n + a } });
            s.__map_all_with((a,), const { |s, (a,)| { place!{} *s + a } });
        }",
    );
}

#[test]
fn closures_for_elements_are_known_by_their_calls() {
    assert_rewritten(
        "fn add(v: &DistVec<u64>, a: u64) { v.update(3, |n| *n += a); v.update_then(3, |n| *n + a, drop); v.updates(|n, b: u64| *n += a * b); }",
        "fn add(v: &DistVec<u64>, a: u64) {
            v.__update_with(3, (a,), const { |n, (a,)| { place!{} *n += a } });
            v.__update_with_then(3, (a,), const { |n, (a,)| { place!{} *n + a } }, drop);
            v.__updates_with((a,), const { |(a,)| { place!{} move |n, b: u64| *n += a * b } });
        }",
    );
    assert_rewritten(
        "fn add(m: &DistMap<u8, u64>, a: u64) { m.update(3, 0, |n| *n += a); m.apply(3, |n| *n + a); m.merges(|n, b| *n += a * b); m.retain_with(|_, n, a| *n > a, a); }",
        "fn add(m: &DistMap<u8, u64>, a: u64) {
            m.__update_with(3, 0, (a,), const { |n, (a,)| { place!{} *n += a } });
            m.__apply_with(3, (a,), const { |n, (a,)| { place!{} *n + a } });
            m.__merges_with((a,), const { |(a,)| { place!{} move |n, b| *n += a * b } });
            m.__retain_with(a, const { |arguments| { place!{} move |_, n| { let a = &arguments; *n > a } } });
        }",
    );
    assert_rewritten(
        "fn all(v: &DistVec<u64>, a: u64) { v.par_for_each(|i, n| *n += i + a); collections::par_for_each(0..9, |i| f(i, a)); }",
        "fn all(v: &DistVec<u64>, a: u64) {
            v.__par_for_each_with((a,), const { |(a,)| { place!{} move |i, n| *n += i + a } });
            ({ ::gossamer::__private::par_for_each_with(0..9, (a,), const { |(a,)| { place!{} move |i| f(i, a) } }) });
        }",
    );
    let source = "fn own(par_for_each: fn(u64), a: u64) { par_for_each(|i| i + a); }";
    assert_rewritten(source, source);
    assert_rewritten(
        "fn least(v: &DistVec<u64>, a: u64) { v.par_map_reduce(|_, n| n + a, |n, m| n.min(m)); v.par_sort_by_key(|n| *n); v.par_fold(0, |s, _, n| s + n * a); }",
        "fn least(v: &DistVec<u64>, a: u64) {
            v.__par_map_reduce_with((a,), const { |(a,)| { place!{} move |_, n| n + a } }, const { |n, m| n.min(m) });
            v.par_sort_by_key(const { |n| { place!{} *n } });
            v.__par_fold_with(0, (a,), const { |(a,)| { place!{} move |s, _, n| s + n * a } });
        }",
    );
    assert_rewritten(
        "fn make(a: usize) { DistVec::from_fn(9, |i| i + a); collections::DistVec::<usize>::from_fn(9, |i| i); }",
        "fn make(a: usize) {
            DistVec::__from_fn_with(9, (a,), const { |(a,)| { place!{} move |i| i + a } });
            collections::DistVec::<usize>::from_fn(9, const { |i| { place!{} i } });
        }",
    );
    let source =
        "fn not_ours(c: &Cell<u64>, a: u64) { c.update(|n| n + a); std::array::from_fn(|i| i + a); }";
    assert_rewritten(source, source);
}

#[test]
fn the_closure_of_a_loop_takes_its_captures_once() {
    assert_rewritten(
        "fn all(v: &DistVec<u64>, a: u64) { v.par_map::<u64, _>(move |_, n| -> u64 { n + a }); v.par_map_with(|_, n, (a, b): &(u64, u64)| n + a + b, (a, a)); }",
        "fn all(v: &DistVec<u64>, a: u64) {
            v.__par_map_with::<_, u64, _, _>((a,), const { move |(a,)| { place!{} move |_, n| -> u64 { n + a } } });
            v.__par_map_with((a, a), const { |arguments| { place!{} move |_, n| { let (a, b): &(u64, u64) = &arguments; n + a + b } } });
        }",
    );
    assert_rewritten(
        "fn round(f: &Frontier<u64>, rows: &DistVec<u64>, a: u64) { f.par_for_each(rows, |i, n, row, out| out.push(i, a)).apply(|n, b, next| *n += a * b); }",
        "fn round(f: &Frontier<u64>, rows: &DistVec<u64>, a: u64) {
            f.__par_for_each_with(rows, (a,), const { |(a,)| { place!{} move |i, n, row, out| out.push(i, a) } })
                .__apply_with((a,), const { |(a,)| { place!{} move |n, b, next| *n += a * b } });
        }",
    );
    assert_rewritten(
        "fn emit(v: &DistVec<u64>, m: &DistMap<u64, u64>, a: u64) { v.par_emit(|i, n, out| out.push(*n, a)).merge_into(m, |n, b| *n += b); collections::par_emit(0..9, |i, out| out.push(i, a)).apply_to(v, |n, b| *n += a * b).max(v.par_emit(|i, n, out| out.push(*n, 1)).update_into(m, 0, |n, b| *n += a)); }",
        "fn emit(v: &DistVec<u64>, m: &DistMap<u64, u64>, a: u64) {
            v.__par_emit_with((a,), const { |(a,)| { place!{} move |i, n, out| out.push(*n, a) } })
                .merge_into(m, const { |n, b| { place!{} *n += b } });
            ({ ::gossamer::__private::par_emit_with(0..9, (a,), const { |(a,)| { place!{} move |i, out| out.push(i, a) } }) })
                .__apply_to_with(v, (a,), const { |(a,)| { place!{} move |n, b| *n += a * b } })
                .max(v.par_emit(const { |i, n, out| { place!{} out.push(*n, 1) } })
                    .__update_into_with(m, 0, (a,), const { |(a,)| { place!{} move |n, b| *n += a } }));
        }",
    );
    assert_rewritten(
        "fn later(v: &DistVec<u64>, p: Patch, a: u64) { let e = v.par_emit(|i, n, out| out.push(i, a)); e.apply_to(v, |n, b| *n += a * b); p.apply_to(v, |n| *n += a); }",
        "fn later(v: &DistVec<u64>, p: Patch, a: u64) { let e = v.__par_emit_with((a,), const { |(a,)| { place!{} move |i, n, out| out.push(i, a) } }); e.__apply_to_with(v, (a,), const { |(a,)| { place!{} move |n, b| *n += a * b } }); p.apply_to(v, |n| *n += a); }",
    );
}

#[test]
fn a_callback_comes_after_the_captures() {
    assert_rewritten(
        "fn add(total: Trust<u64>, a: u64) { total.apply_then(|total| *total += a, |()| ()); }",
        "fn add(total: Trust<u64>, a: u64) { total.__apply_with_then((a,), const { |total, (a,)| { place!{} *total += a } }, |()| ()); }",
    );
}

#[test]
fn a_request_that_nobody_waits_for_takes_captures() {
    assert_rewritten(
        "fn add(t: Trust<u64>, v: &DistVec<u64>, a: u64) { t.apply_unawaited(|t| *t += a); v.update_unawaited(3, |n| *n += a); }",
        "fn add(t: Trust<u64>, v: &DistVec<u64>, a: u64) {
            t.__apply_with_unawaited((a,), const { |t, (a,)| { place!{} *t += a } });
            v.__update_with_unawaited(3, (a,), const { |n, (a,)| { place!{} *n += a } });
        }",
    );
}

#[test]
fn type_arguments_get_one_more_for_the_captures() {
    assert_rewritten(
        "fn get(total: &Trust<u64>, a: u64) -> u64 { total.apply::<u64, _>(|total| *total + a) }",
        "fn get(total: &Trust<u64>, a: u64) -> u64 { total.__apply_with::<_, u64, _>((a,), const { |total, (a,)| { place!{} *total + a } }) }",
    );
}

#[test]
fn inner_captures_are_captures_of_the_outer_closure() {
    assert_rewritten(
        "fn both(outer: Trust<u64>, inner: Trust<u64>, a: u64) {
            outer.apply_then(move |_| inner.apply_then(move |n| *n += a, |()| ()), |()| ());
        }",
        "fn both(outer: Trust<u64>, inner: Trust<u64>, a: u64) {
            outer.__apply_with_then(
                (inner, a,),
                const { move |_, (inner, a,)| {
                    place!{} inner.__apply_with_then((a,), const { move |n, (a,)| { place!{} *n += a } }, |()| ())
                } },
                |()| ()
            );
        }",
    );
}

#[test]
fn names_in_format_strings_and_in_unknown_macros_are_captures() {
    assert_rewritten(
        "fn show(log: &Trust<u64>, name: String, width: usize) { log.apply(move |_| print!(\"{name:width$}\")); }",
        "fn show(log: &Trust<u64>, name: String, width: usize) {
            log.__apply_with((name, width,), const { move |_, (name, width,)| { place!{} print!(\"{name:width$}\") } });
        }",
    );
    assert_rewritten(
        "fn show(log: &Trust<u64>, name: String) { log.apply(move |_| trace!(%name)); }",
        "fn show(log: &Trust<u64>, name: String) {
            log.__apply_with((name,), const { move |_, #[allow(unused_variables)] (name,)| { place!{} trace!(%name) } });
        }",
    );
}

#[test]
fn spawn_is_rewritten_by_path_and_left_alone_on_other_types() {
    assert_rewritten(
        "fn start(n: u64) { gossamer::spawn(move || n); }",
        "fn start(n: u64) { ::gossamer::__private::spawn_with((n,), const { move |(n,)| { place!{} n } }); }",
    );
    assert_rewritten(
        "fn start(t: Trustee, n: u64) { t.spawn(move || n); }",
        "fn start(t: Trustee, n: u64) { t.__spawn_with((n,), const { move |(n,)| { place!{} n } }); }",
    );
    for source in [
        "fn start(scope: &Scope, n: u64) { scope.spawn(move || n); }",
        "fn start(n: u64) { std::thread::spawn(move || n); }",
        "fn start(spawn: fn(u64), n: u64) { spawn(move || n); }",
    ] {
        assert_rewritten(source, source);
    }
}

#[test]
fn explicit_arguments_come_first() {
    assert_rewritten(
        "fn add(total: &Trust<u64>, n: u64) { total.apply_with_then(|total, n| *total += n, n, |()| ()); }",
        "fn add(total: &Trust<u64>, n: u64) {
            total.__apply_with_then(n, const { |total, n| { place!{} *total += n } }, |()| ());
        }",
    );
    assert_rewritten(
        "fn all(n: u64) { rack::on_each_node(|n| n, n); gossamer::spawn_many_with(8, |_, n| n, n); }",
        "fn all(n: u64) {
            ({ ::gossamer::__private::on_each_node(n, const { |n| { place!{} n } }) });
            ::gossamer::__private::spawn_many_with(8, n, const { |_, n| { place!{} n } });
        }",
    );
    assert_rewritten(
        "fn make(t: Trustee) { t.entrust_with(|n| Cell::new(n), 5); Sharded::<u8, u8>::with(|| 1).map_all(|n| *n); }",
        "fn make(t: Trustee) {
            t.__entrust_with(5, const { |n| { place!{} Cell::new(n) } });
            Sharded::<u8, u8>::with(const { || { place!{} 1 } }).map_all(const { |n| { place!{} *n } });
        }",
    );
}

#[test]
fn a_constant_of_the_user_sees_no_variables_and_its_closures_may_delegate() {
    assert_rewritten(
        "fn all(t: Trust<u64>, n: u64) { let f = const { |t, n| t.apply(|t| *t += n) }; t.apply(|t| f(t, n)); }",
        "fn all(t: Trust<u64>, n: u64) {
            let f = const { |t, n| t.__apply_with((n,), const { |t, (n,)| { place!{} *t += n } }) };
            t.__apply_with((f, n,), const { |t, (f, n,)| { place!{} f(t, n) } });
        }",
    );
}

#[test]
fn a_closure_that_captures_beside_its_arguments_is_an_error() {
    let mut function =
        parse("fn add(t: &Trust<u64>, n: u64, by: u64) { t.apply_with(|t, n| *t += n * by, n); }");
    rewrite_function(&mut function);
    let rewritten = function.into_token_stream().to_string();
    assert!(
        rewritten.contains("compile_error") && rewritten.contains("`by` is not among them"),
        "{rewritten}"
    );
    assert!(!rewritten.contains("const {"), "{rewritten}");
}

#[test]
fn more_captures_than_a_tuple_can_have_are_nested() {
    let names: Vec<String> = (0..13).map(|index| format!("n{index}")).collect();
    let first = names[..12].join(", ");
    assert_rewritten(
        &format!(
            "fn all(t: &Trust<u64>) {{ let ({}) = numbers(); t.apply(|_| [{}]); }}",
            names.join(", "),
            names.join(", ")
        ),
        &format!(
            "fn all(t: &Trust<u64>) {{
                let ({all}) = numbers();
                t.__apply_with((({first},), (n12,),), const {{ |_, (({first},), (n12,),)| {{ place!{{}} [{all}] }} }});
            }}",
            all = names.join(", "),
        ),
    );
}

#[test]
fn mistakes_become_errors_inside_the_body() {
    let mut function = parse(
        "fn count(&self, t: &Trust<u64>, mut n: u64) { t.apply(|t| n += *t); t.apply(|t| *t + self.0); }",
    );
    rewrite_function(&mut function);
    let body = function.block.to_token_stream().to_string();
    assert_eq!(body.matches("compile_error").count(), 2, "{body}");
    assert!(body.contains("place ! { } * t + self . 0"), "{body}");
}

#[test]
fn a_stored_closure_that_is_only_delegated_leaves_its_captures_in_its_variable() {
    assert_rewritten(
        "fn add(t: &Trust<u64>, a: u64) { let add = move |t: &mut u64| *t += a; t.apply(add); t.apply_then(add, drop); }",
        "fn add(t: &Trust<u64>, a: u64) {
            let add = (a,);
            t.__apply_with(add, const { move |t: &mut u64, (a,)| { place!{} *t += a } });
            t.__apply_with_then(add, const { move |t: &mut u64, (a,)| { place!{} *t += a } }, drop);
        }",
    );
    assert_rewritten(
        "fn add(e: Expansion, n: u64) { let add = move |a: &mut u64, b: u64, _: &mut Marker<'_>| *a += b + n; e.apply(add); }",
        "fn add(e: Expansion, n: u64) {
            let add = (n,);
            e.__apply_with(add, const { move |(n,)| { place!{} move |a: &mut u64, b: u64, _: &mut Marker<'_>| *a += b + n } });
        }",
    );
    assert_rewritten(
        "fn reset(t: &Trust<u64>) { let reset = |t: &mut u64| *t = 0; t.apply(reset); }",
        "fn reset(t: &Trust<u64>) { let reset = const { |t: &mut u64| { place!{} *t = 0 } }; t.apply(reset); }",
    );
}

#[test]
fn methods_of_collections_are_known_by_their_paths() {
    assert_rewritten(
        "fn f(v: &DistVec<u64>, n: u64) { DistVec::update(v, 3, |e| *e += n); collections::DistVec::<u64>::par_for_each(v, |e| *e += n); }",
        "fn f(v: &DistVec<u64>, n: u64) {
            DistVec::__update_with(v, 3, (n,), const { |e, (n,)| { place!{} *e += n } });
            collections::DistVec::<u64>::__par_for_each_with(v, (n,), const { |(n,)| { place!{} move |e| *e += n } });
        }",
    );
}

#[test]
fn a_stored_closure_that_is_used_otherwise_stays() {
    for source in [
        "fn f(t: &Trust<u64>, a: u64) { let add = move |t: &mut u64| *t += a; t.apply(add); add(&mut 1); }",
        "fn f(t: &Trust<u64>, a: u64) { let add = move |t: &mut u64| *t += a; t.apply(add); println!(\"{}\", g(add)); }",
        "fn f(t: &Number, a: u64) { let add = move |t| t + a; t.apply(add); }",
        "fn f(t: &Number, a: u64) { let add = move || a; add(); }",
    ] {
        assert_rewritten(source, source);
    }
}

#[test]
fn an_assertion_prints_its_condition_as_it_was_written() {
    assert_rewritten(
        "fn check(t: &Trust<u64>, a: u64) { assert!(t.apply(|t| { *t > a }),); debug_assert!(t.apply(|t| *t > a), \"{a}\"); assert!(a > 0); }",
        "fn check(t: &Trust<u64>, a: u64) {
            assert!(
                t.__apply_with((a,), const { |t, (a,)| { place!{} *t > a } }),
                \"assertion failed: t . apply (| t | { { * t > a } })\"
            );
            debug_assert!(t.__apply_with((a,), const { |t, (a,)| { place!{} *t > a } }), \"{a}\");
            assert!(a > 0);
        }",
    );
}

#[test]
fn dbg_prints_its_arguments_as_they_were_written() {
    assert_rewritten(
        "fn f(t: &Trust<u64>, a: u64) { dbg!(t.apply(|t| *t + a), a); dbg!(a); std::dbg!(t.apply(|t| *t)); }",
        "fn f(t: &Trust<u64>, a: u64) {
            ::gossamer::__private::dbg!(
                \"t . apply (| t | * t + a)\" t.__apply_with((a,), const { |t, (a,)| { place!{} *t + a } }),
                \"a\" a
            );
            dbg!(a);
            ::gossamer::__private::dbg!(\"t . apply (| t | * t)\" t.apply(const { |t| { place!{} *t } }));
        }",
    );
}
