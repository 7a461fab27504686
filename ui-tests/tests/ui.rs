//! What the macros and bounds of gossamer accept (`pass/`, also run) and refuse (`fail/`, with rustc's output beside each).
//!
//! The output is that of the pinned toolchain. After a change that is meant, write it anew with `TRYBUILD=overwrite`.

use std::time::Duration;
use std::{process, thread};

/// Far more than all cases need together: only a program that hangs reaches it.
const LIMIT: Duration = Duration::from_secs(30 * 60);

#[test]
fn legal_programs_run_and_mistakes_are_told_in_our_words() {
    thread::spawn(|| {
        thread::sleep(LIMIT);
        process::abort();
    });
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}
