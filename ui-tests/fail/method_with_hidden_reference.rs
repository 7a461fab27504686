//! Methods with types that hide what cannot travel.

use std::rc::Rc;

type Text = &'static str;

struct Plain;

struct Account {
    owner: Rc<str>,
}

#[gossamer::delegate]
impl Account {
    fn owner(&self) -> Rc<str> {
        self.owner.clone()
    }
    fn rename(&mut self, owner: Text) {
        self.owner = owner.into();
    }
    fn mark(&mut self, _: Vec<Plain>) -> u64 {
        1
    }
}

fn main() {}
