//! A thread-local reference that is set for the length of a call.

/// Makes a module with `set`, which runs a closure with a reference set for this thread, and two ways to get it:
/// `with`, which gives it to a closure, and `get`, where a closure is too large to be inlined and its return would
/// cost.
///
/// It is a macro because only a thread-local that is named in the accessor is inlined into its callers.
macro_rules! scoped_thread_local {
    ($(#[$attribute:meta])* mod $name:ident: $type:ty) => {
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "proved here, once: see Z1")]
        mod $name {
            use super::*;

            thread_local! {
                /// Z1: null, or made from a reference given to a `set` that is still on this thread's stack.
                static CURRENT: std::cell::Cell<*const $type> = const { std::cell::Cell::new(std::ptr::null()) };
            }

            struct Reset(*const $type);

            impl Drop for Reset {
                fn drop(&mut self) {
                    CURRENT.set(self.0);
                }
            }

            /// Runs `f` with `value` set for this thread.
            pub(crate) fn set<R>(value: &$type, f: impl FnOnce() -> R) -> R {
                let _reset = Reset(CURRENT.replace(value));
                f()
            }

            /// Runs `f` with this thread's value, if it has one.
            #[inline(always)]
            pub(crate) fn with<R>(f: impl FnOnce(Option<&$type>) -> R) -> R {
                // SAFETY: Z1: the reference is alive, since `set` resets the pointer before it returns.
                f(unsafe { CURRENT.get().as_ref() })
            }

            /// This thread's value, if it has one.
            ///
            /// # Safety
            /// The reference is given up before the function that called this returns: the `set` below it on the stack
            /// has not returned by then.
            #[inline(always)]
            pub(crate) unsafe fn get<'a>() -> Option<&'a $type> {
                // SAFETY: Z1, and guaranteed by the caller.
                unsafe { CURRENT.get().as_ref() }
            }
        }
    };
}

pub(crate) use scoped_thread_local;
