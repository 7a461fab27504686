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
