//! Methods that other types have as well: they delegate on receivers that visibly are gossamer's.

use super::assert_rewritten;

#[test]
fn each_is_a_delegation_on_workers() {
    assert_rewritten(
        "fn count(w: &Workers, by: usize) {
            Workers::all().each(|member| member.index() + by);
            gossamer::Workers::on(&some).each(|member| member.index());
            let some = w.clone();
            some.each({ let by = by; move |member| member.index() + by });
            w.each_with(|member, by| member.index() + by, by);
            Workers::each(&some, |member| member.index() + by);
        }",
        "fn count(w: &Workers, by: usize) {
            Workers::all().__each_with((by,), const { |member, (by,)| { place!{} member.index() + by } });
            gossamer::Workers::on(&some).each(const { |member| { place!{} member.index() } });
            let some = w.clone();
            some.__each_with({ let by = by; (by,) }, const { move |member, (by,)| { place!{} member.index() + by } });
            w.__each_with(by, const { |member, by| { place!{} member.index() + by } });
            Workers::__each_with(&some, (by,), const { |member, (by,)| { place!{} member.index() + by } });
        }",
    );
    let source = "fn count(rows: &Rows, by: usize) {
        rows.each(|row| row + by); rows.each_with(|row, by| row + by, by);
        team::Workers::all().each(|member| member + by); let w = own::Workers::new(); w.each(|member| member + by);
        team::Workers::each(&w, |member| member + by);
    }";
    assert_rewritten(source, source);
}

#[test]
fn retain_is_a_delegation_on_maps_and_sets_over_workers() {
    assert_rewritten(
        "fn keep(m: &DistMap<u64, u64>, least: u64) {
            m.retain(|key, _| *key >= least);
            let set = DistSet::new();
            set.clone().retain(|key: &u64| *key > 3);
            DistMap::retain(&self.map, |key, _| *key >= least);
        }",
        "fn keep(m: &DistMap<u64, u64>, least: u64) {
            m.__retain_with((least,), const { |(least,)| { place!{} move |key, _| *key >= least } });
            let set = DistSet::new();
            set.clone().retain(const { |key: &u64| { place!{} *key > 3 } });
            DistMap::__retain_with(&self.map, (least,), const { |(least,)| { place!{} move |key, _| *key >= least } });
        }",
    );
    let source = "fn keep(mut v: Vec<u64>, m: &HashMap<u64, u64>, least: u64) {
        v.retain(|number| *number >= least); m.retain(|key, _| *key >= least); unknown().retain(|key| *key >= least);
    }";
    assert_rewritten(source, source);
}
