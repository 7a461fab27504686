//! Closures that are not plain arguments.

use super::assert_rewritten;

#[test]
fn a_block_around_a_closure_stays_an_argument() {
    assert_rewritten(
        "fn add(t: &Trust<u64>, name: &Name, n: u64) { t.apply({ let name = name.clone(); move |t| *t += name.len() + n }); }",
        "fn add(t: &Trust<u64>, name: &Name, n: u64) {
            t.__apply_with(
                { let name = name.clone(); (name, n,) },
                const { move |t, (name, n,)| { place!{} *t += name.len() + n } }
            );
        }",
    );
    assert_rewritten(
        "fn start(t: &Trust<u64>) { for i in 0..3 { gossamer::spawn({ let t = t.clone(); move || t.apply(|t| *t += i) }); } }",
        "fn start(t: &Trust<u64>) {
            for i in 0..3 {
                ::gossamer::__private::spawn_with({ let t = t.clone(); (t, i,) }, const {
                    move |(t, i,)| { place!{} t.__apply_with((i,), const { |t, (i,)| { place!{} *t += i } }) }
                });
            }
        }",
    );
    assert_rewritten(
        "fn all(v: &DistVec<u64>, by: &By) { v.par_map_reduce({ let by = by.clone(); |n| n * by.get() }, |n, m| n + m); }",
        "fn all(v: &DistVec<u64>, by: &By) {
            v.__par_map_reduce_with(
                { let by = by.clone(); (by,) },
                const { |(by,)| { place!{} move |n| n * by.get() } },
                const { |n, m| n + m }
            );
        }",
    );
}

#[test]
fn a_closure_at_the_end_of_a_block_that_captures_nothing_is_a_constant_there() {
    assert_rewritten(
        "fn reset(t: &Trust<u64>, n: u64) { t.apply_then({ t.apply(|t| *t += n); { |t| *t } }, drop); }",
        "fn reset(t: &Trust<u64>, n: u64) {
            t.apply_then({
                t.__apply_with((n,), const { |t, (n,)| { place!{} *t += n } });
                { const { |t| { place!{} *t } } }
            }, drop);
        }",
    );
}

#[test]
fn the_statements_of_a_block_are_part_of_the_closure_around_it() {
    assert_rewritten(
        "fn add(t: &Trust<u64>, u: Trust<u64>, n: u64) { t.launch(move |t| u.apply({ let by = n + *t; move |u| *u += by })); }",
        "fn add(t: &Trust<u64>, u: Trust<u64>, n: u64) {
            t.__launch_with((u, n,), const {
                move |t, (u, n,)| {
                    place!{}
                    u.__apply_with({ let by = n + *t; (by,) }, const { move |u, (by,)| { place!{} *u += by } })
                }
            });
        }",
    );
}

#[test]
fn a_block_that_a_closure_cannot_leave_stays() {
    for source in [
        "fn add(t: &Trust<u64>) { t.apply({ fn two() -> u64 { 2 } move |t| *t += two() }); }",
        "fn add(t: &Trust<u64>, n: u64) { t.apply('block: { let n = n; move |t| *t += n }); }",
        "fn add(t: &Trust<u64>, n: String) { t.apply_with({ log(&n); |t, n| *t += n.len() }, n); }",
    ] {
        assert_rewritten(source, source);
    }
}

#[test]
fn closures_in_the_arms_of_select_are_delegated() {
    assert_rewritten(
        "fn wait(t: &Trust<u64>, by: u64) -> u64 {
            select! {
                x = t.apply_async(|x| *x + by), if t.apply(|t| *t > by) => { t.apply(move |t| *t + x) }
                (by, _) = f() => t.apply(|x| *x + by),
                _ = g() => if by > 3 { 1 } else { t.apply(|t| *t) },
                else => t.apply(|x| *x + by)
            }
        }",
        "fn wait(t: &Trust<u64>, by: u64) -> u64 {
            select! {
                x = t.__apply_with_async((by,), const { |x, (by,)| { place!{} *x + by } }),
                    if t.__apply_with((by,), const { |t, (by,)| { place!{} *t > by } })
                    => { t.__apply_with((x,), const { move |t, (x,)| { place!{} *t + x } }) }
                (by, _) = f() => t.__apply_with((by,), const { |x, (by,)| { place!{} *x + by } }),
                _ = g() => if by > 3 { 1 } else { t.apply(const { |t| { place!{} *t } }) },
                else => t.__apply_with((by,), const { |x, (by,)| { place!{} *x + by } })
            }
        }",
    );
    assert_rewritten(
        "fn wait(t: &Trust<u64>) { gossamer::select! { biased; x = t.apply_async(|x| *x) => x, } }",
        "fn wait(t: &Trust<u64>) {
            gossamer::select! { biased; x = t.apply_async(const { |x| { place!{} *x } }) => x, }
        }",
    );
}

#[test]
fn what_the_arms_of_select_use_is_captured_and_what_they_bind_is_not() {
    assert_rewritten(
        "fn wait(a: u64, b: u64, c: u64, x: u64) {
            gossamer::spawn(move || { select! { x = f(a), if b > 1 => g(x + c), biased = h() => biased } });
        }",
        "fn wait(a: u64, b: u64, c: u64, x: u64) {
            ::gossamer::__private::spawn_with((a, b, c,), const {
                move |(a, b, c,)| { place!{} select! { x = f(a), if b > 1 => g(x + c), biased = h() => biased } }
            });
        }",
    );
}

#[test]
fn a_pattern_of_an_arm_may_name_a_constant() {
    assert_rewritten(
        "fn last(t: &Trust<u64>) { tokio::select! { None = f() => t.apply(|t| *t = LIMIT), LIMIT = g() => t.apply(|t| *t = LIMIT), } }",
        "fn last(t: &Trust<u64>) {
            tokio::select! {
                None = f() => t.apply(const { |t| { place!{} *t = LIMIT } }),
                LIMIT = g() => t.apply(const { |t| { place!{} *t = LIMIT } }),
            }
        }",
    );
}

#[test]
fn a_stored_closure_may_be_delegated_in_select() {
    assert_rewritten(
        "fn wait(t: &Trust<u64>, by: u64) {
            let add = move |t: &mut u64| *t += by;
            select! { _ = t.apply_async(add), if by > 1 => (), else => t.apply(add) }
        }",
        "fn wait(t: &Trust<u64>, by: u64) {
            let add = (by,);
            select! {
                _ = t.__apply_with_async(add, const { move |t: &mut u64, (by,)| { place!{} *t += by } }), if by > 1 => (),
                else => t.__apply_with(add, const { move |t: &mut u64, (by,)| { place!{} *t += by } })
            }
        }",
    );
    let source = "fn wait(t: &Trust<u64>, by: u64) {
        let add = move |t: &mut u64| *t += by;
        select! { _ = t.apply_async(add) => add(&mut 1) }
    }";
    assert_rewritten(source, source);
}

#[test]
fn a_select_of_another_grammar_is_read_as_any_other_macro() {
    assert_rewritten(
        "fn wait(t: &Trust<u64>, a: u64) { select!(t.apply(|t| *t + a), 3); crossbeam::select! { recv(r) -> x => x } }",
        "fn wait(t: &Trust<u64>, a: u64) {
            select!(t.__apply_with((a,), const { |t, (a,)| { place!{} *t + a } }), 3);
            crossbeam::select! { recv(r) -> x => x }
        }",
    );
}
