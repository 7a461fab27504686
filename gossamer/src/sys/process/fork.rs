//! For tests: something done by a copy of this process.

/// A child process.
#[derive(Debug)]
pub(crate) struct Child(libc::pid_t);

/// Runs `body` in a fork of this process. The fork ends after `body` without running destructors, or by a signal after
/// `seconds`.
///
/// # Safety
/// `body` takes no lock and allocates nothing: another thread may have had the allocator's lock when it was copied.
pub(crate) unsafe fn fork(seconds: u32, body: impl FnOnce()) -> Child {
    // SAFETY: the child only does what the caller vouches for.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a process cannot be forked");
    if child == 0 {
        // SAFETY: a system call.
        unsafe { libc::alarm(seconds) };
        body();
        // SAFETY: the child ends here.
        unsafe { libc::_exit(0) };
    }
    Child(child)
}

impl Child {
    /// Kills it, wherever it is.
    pub(crate) fn kill(&self) {
        // SAFETY: the child is ours and not waited for yet.
        assert_eq!(unsafe { libc::kill(self.0, libc::SIGKILL) }, 0);
    }

    /// Waits for its end and returns its status, zero if it finished `body`.
    pub(crate) fn wait(self) -> i32 {
        let mut status = 0;
        // SAFETY: the child is ours and not waited for yet; the status is written.
        assert_eq!(unsafe { libc::waitpid(self.0, &raw mut status, 0) }, self.0);
        status
    }
}
