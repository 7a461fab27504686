//! What a fiber finds when it is about to suspend: that it was woken meanwhile, or that it is asked where it is.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::frame;
use crate::sys::fibers::wait::FiberName;
use std::sync::Weak;
use std::sync::mpsc::Sender;

/// Stack that a fiber must have left to walk it: unwinding takes some of it, and so does the dynamic linker at its
/// first call.
const ROOM: usize = 32 * 1024;
/// The most frames that are reported: the innermost ones.
const FRAMES: usize = 256;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Notice {
    #[default]
    None,
    /// Woken while it was not parked: the next park returns at once.
    Woken,
    /// Report where it is, at the next park.
    BacktraceWanted,
}

/// Asks where a fiber is.
#[derive(Clone)]
pub(crate) struct BacktraceRequest {
    pub(crate) to: Sender<(FiberName, Vec<usize>)>,
    /// Gone when nothing listens any more.
    pub(crate) asker: Weak<()>,
}

impl Fiber {
    /// Makes it report where it is when it parks again, as the addresses of its frames, the innermost first. The fiber
    /// has to be resumed for that.
    pub(crate) fn request_backtrace(&self, request: BacktraceRequest) {
        self.notes.backtrace_request.set(Some(Box::new(request)));
        self.notice.set(Notice::BacktraceWanted);
    }

    /// Consumes the notice, on the running fiber, that it was woken, perhaps for something that does not concern it.
    pub(crate) fn take_notification() -> bool {
        Self::with_running(|fiber| fiber.notice.take() != Notice::None)
    }

    /// Whether the running fiber was woken, so that it must not suspend.
    #[inline(always)]
    pub(super) fn heeds_notice(&self) -> bool {
        self.notice.get() != Notice::None && self.heed()
    }

    #[cold]
    #[inline(never)]
    fn heed(&self) -> bool {
        let notice = self.notice.take();
        if notice == Notice::BacktraceWanted {
            self.tell_backtrace();
        }
        notice == Notice::Woken
    }

    fn tell_backtrace(&self) {
        let Some(request) = self.notes.backtrace_request.take() else { return };
        let left = frame::stack_pointer().addr().saturating_sub(self.guard);
        if request.asker.strong_count() == 0 || left < ROOM {
            return;
        }
        let mut frames = Vec::with_capacity(FRAMES);
        backtrace::trace(|frame| {
            frames.push(frame.ip().addr());
            frames.len() < FRAMES
        });
        // The asking side may be gone.
        let _gone = request.to.send((self.name(), frames));
    }
}
