//! The names of properties, kept by worker 0 for all nodes.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Trusts by name, each with the name of its property's type.
#[derive(Default)]
pub(crate) struct Names(RefCell<HashMap<String, Named>>);

struct Named {
    kind: &'static str,
    trust: Box<dyn Any>,
}

impl Names {
    /// Gives a name to a trust. If another trust has the name, returns the type of its property.
    pub(crate) fn add(&self, name: &str, kind: &'static str, trust: impl Any) -> Result<(), &'static str> {
        match self.0.borrow_mut().entry(name.to_owned()) {
            Entry::Occupied(taken) => return Err(taken.get().kind),
            Entry::Vacant(place) => place.insert(Named { kind, trust: Box::new(trust) }),
        };
        Ok(())
    }

    /// The trust that has a name, or else the type of its property.
    pub(crate) fn get<T: Any + Clone>(&self, name: &str) -> Option<Result<T, &'static str>> {
        let names = self.0.borrow();
        let named = names.get(name)?;
        Some(named.trust.downcast_ref().cloned().ok_or(named.kind))
    }

    /// Gives up a name, and returns whether it existed.
    pub(crate) fn remove(&self, name: &str) -> bool {
        // Outside the borrow: dropping the last trust sends to the trustee.
        let named = self.0.borrow_mut().remove(name);
        named.is_some()
    }

    /// Gives up all names, because the runtime is ending.
    pub(crate) fn clear(&self) {
        drop(self.0.take());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}
