//! Streams of a user who is not root: `/dev/userfaultfd` is not his.

use crate::raw::iota_to_sum;
use crate::{joins, small};
use gossamer::stream::{self, Faults, Geometry, Options};
use integration_tests::isolated;
use std::fs::File;
use std::ptr::null;

/// Gives up what root may do, in all threads.
fn become_nobody() {
    const NOBODY: u32 = 65534;
    // SAFETY: a system call.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    // SAFETY: no group is read.
    let groups = unsafe { libc::setgroups(0, null()) };
    // SAFETY: a system call, as the next one.
    let group = unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    // SAFETY: as above.
    let user = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    assert_eq!([groups, group, user], [0; 3]);
}

#[test]
fn a_user_who_is_not_root_has_windows_over_every_way() {
    isolated(|| {
        become_nobody();
        for join in joins() {
            for faults in [Faults::Auto, Faults::Signal] {
                for geometry in [Geometry::default(), small()] {
                    iota_to_sum(join, 16 << 20, Options::from(geometry).faults(faults));
                }
            }
        }
        let options = |faults| Options::from(small()).faults(faults);
        let window = |faults| stream::pair(0, options(faults)).unwrap().0.into_window();
        if File::options().read(true).write(true).open("/dev/userfaultfd").is_err() {
            assert!(!window(Faults::Auto).unwrap().serves_system_calls());
            let error = window(Faults::Userfault).unwrap_err().to_string();
            assert!(error.contains("/dev/userfaultfd") && error.contains("`Faults::Signal`"), "{error}");
        }
    });
}
