//! Values that belong to a fiber, or to a thread, by key.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// Names a value; one for each `FiberLocal`.
pub(crate) type LocalKey = u32;

/// What a key has.
pub(crate) enum LocalEntry {
    Absent,
    /// Its initialiser is running.
    Beginning,
    Value(Rc<dyn Any>),
}

/// So few that a list is searched faster than a map. No code of a value runs while it is borrowed.
#[derive(Default)]
pub(crate) struct Locals(RefCell<Vec<(LocalKey, Option<Rc<dyn Any>>)>>);

impl Locals {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    pub(crate) fn get(&self, key: LocalKey) -> LocalEntry {
        match self.0.borrow().iter().find(|(other, _)| *other == key) {
            None => LocalEntry::Absent,
            Some((_, None)) => LocalEntry::Beginning,
            Some((_, Some(value))) => LocalEntry::Value(Rc::clone(value)),
        }
    }

    /// Notes that the initialiser of an absent value has started.
    pub(crate) fn begin(&self, key: LocalKey) {
        self.0.borrow_mut().push((key, None));
    }

    /// The initialiser has ended, with a value unless it has panicked.
    pub(crate) fn finish(&self, key: LocalKey, value: Option<Rc<dyn Any>>) {
        let mut locals = self.0.borrow_mut();
        // Values that the initialiser used were made before, and are dropped after it.
        locals.retain(|(other, _)| *other != key);
        if value.is_some() {
            locals.push((key, value));
        }
    }

    /// Takes out the value that was made last.
    pub(crate) fn pop(&self) -> Option<Rc<dyn Any>> {
        let mut locals = self.0.borrow_mut();
        while let Some((_, value)) = locals.pop() {
            if value.is_some() {
                return value;
            }
        }
        None
    }
}
