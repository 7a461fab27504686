//! Methods with references and pointers, visible in arguments and results: every one is reported.

use std::borrow::Cow;

struct Account {
    owner: String,
}

#[gossamer::delegate]
impl Account {
    fn rename(&mut self, owner: &str) {
        self.owner = owner.to_owned();
    }
    fn owner(&self) -> &str {
        &self.owner
    }
    fn words(&self) -> Vec<&'static str> {
        Vec::new()
    }
    fn address(&self, at: *const u8) -> *const u8 {
        at
    }
    fn change(&mut self, by: fn(&mut String)) {
        by(&mut self.owner);
    }
    fn show(&self, with: Box<dyn Fn(&str)>) {
        with(&self.owner);
    }
    fn replace(&mut self, owner: Cow<'static, str>) {
        self.owner = owner.into_owned();
    }
    fn fine(&mut self, owner: String) -> usize {
        self.owner = owner;
        self.owner.len()
    }
}

fn main() {
    gossamer::entrust(Account { owner: String::new() }).fine(String::new());
}
