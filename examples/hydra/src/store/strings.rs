//! GET, SET and similar commands.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;

/// The options of SET and GETEX.
#[derive(Default)]
struct Options<'a> {
    if_absent: bool,
    if_present: bool,
    get: bool,
    keep: bool,
    persist: bool,
    expiry: Option<Expiry<'a>>,
}

#[derive(Clone, Copy)]
struct Expiry<'a> {
    unit: i64,
    is_relative: bool,
    time: &'a [u8],
}

impl<'a> Options<'a> {
    /// Reads them as redis does: some can be combined, and a later time replaces an earlier one of its kind.
    fn parse(arguments: &[&'a [u8]], is_set: bool) -> Result<Self, Refusal> {
        let mut options = Options::default();
        let mut rest = arguments;
        while let [option, behind @ ..] = rest {
            rest = behind;
            let is = |name: &[u8]| option.eq_ignore_ascii_case(name);
            let kinds: [(&[u8], i64, bool); 4] =
                [(b"EX", 1000, true), (b"PX", 1, true), (b"EXAT", 1000, false), (b"PXAT", 1, false)];
            if is(b"NX") && is_set && !options.if_present {
                options.if_absent = true;
            } else if is(b"XX") && is_set && !options.if_absent {
                options.if_present = true;
            } else if is(b"GET") && is_set {
                options.get = true;
            } else if is(b"KEEPTTL") && is_set && !options.persist && options.expiry.is_none() {
                options.keep = true;
            } else if is(b"PERSIST") && !is_set && !options.keep && options.expiry.is_none() {
                options.persist = true;
            } else if let Some((_, unit, is_relative)) = kinds.into_iter().find(|(name, ..)| is(name))
                && !options.keep
                && !options.persist
                && options.expiry.is_none_or(|other| (other.unit, other.is_relative) == (unit, is_relative))
                && let [time, behind @ ..] = rest
            {
                options.expiry = Some(Expiry { unit, is_relative, time });
                rest = behind;
            } else {
                return Err(refusal::SYNTAX);
            }
        }
        Ok(options)
    }
}

impl Expiry<'_> {
    fn at(self, command: &str, now: u64) -> Result<u64, Refusal> {
        let time = number::parse(self.time).ok_or(refusal::NO_INTEGER)?;
        let base = if self.is_relative { now as i64 } else { 0 };
        let at = Some(time).filter(|time| *time > 0).and_then(|time| time.checked_mul(self.unit));
        let at = at.and_then(|at| at.checked_add(base)).ok_or_else(|| refusal::expire_time(command))?;
        Ok(at as u64)
    }
}

impl Shard {
    #[inline]
    pub fn get(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        match self.find_to_read(key) {
            Some(slot) => to.bulk(self.database.table.at(slot).string()?),
            None => to.null(),
        }
        Ok(())
    }

    /// As `get`, for MGET: a value that is not a string counts as missing.
    pub fn get_or_null(&mut self, key: &[u8], to: &mut Replies<'_>) {
        if self.get(key, to).is_err() {
            to.null();
        }
    }

    #[inline]
    pub fn set(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (key, value) = (arguments[0], arguments[1]);
        if arguments.len() == 2 {
            let slot = self.database.table.find(key);
            self.put(slot, key, value, None);
            to.ok();
            return Ok(());
        }
        self.set_with(key, value, Options::parse(&arguments[2..], true)?, to)
    }

    fn set_with(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: Options<'_>,
        to: &mut Replies<'_>,
    ) -> Result<(), Refusal> {
        let mut expiry = options.expiry.map(|expiry| expiry.at("set", self.now())).transpose()?;
        if options.get {
            self.get(key, to)?;
        }
        let slot = self.find(key);
        if options.if_absent && slot.is_some() || options.if_present && slot.is_none() {
            if !options.get {
                to.null();
            }
            return Ok(());
        }
        if options.keep {
            expiry = slot.and_then(|slot| self.database.table.at(slot).expiry());
        }
        self.put(slot, key, value, expiry);
        if !options.get {
            to.ok();
        }
        Ok(())
    }

    pub fn set_if_absent(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let is_absent = self.find(arguments[0]).is_none();
        if is_absent {
            self.put(None, arguments[0], arguments[1], None);
        }
        to.integer(i64::from(is_absent));
        Ok(())
    }

    pub fn set_for_a_while(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        unit: i64,
        command: &str,
    ) -> Result<(), Refusal> {
        let &[key, time, value] = arguments else { return Err(refusal::arity(command)) };
        let expiry = Expiry { unit, is_relative: true, time }.at(command, self.now())?;
        let slot = self.database.table.find(key);
        self.put(slot, key, value, Some(expiry));
        to.ok();
        Ok(())
    }

    pub fn get_and_set(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        self.get(arguments[0], to)?;
        let slot = self.database.table.find(arguments[0]);
        self.put(slot, arguments[0], arguments[1], None);
        Ok(())
    }

    pub fn get_and_delete(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        self.get(key, to)?;
        if let Some(slot) = self.database.table.find(key) {
            self.remove(slot);
        }
        Ok(())
    }

    pub fn get_and_expire(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let options = Options::parse(&arguments[1..], false)?;
        let Some(slot) = self.find_to_read(arguments[0]) else {
            to.null();
            return Ok(());
        };
        let string = self.database.table.at(slot).string()?;
        let expiry = options.expiry.map(|expiry| expiry.at("getex", self.now())).transpose()?;
        to.bulk(string);
        if expiry.is_some_and(|expiry| expiry <= self.now()) {
            self.remove(slot);
        } else if expiry.is_some() || options.persist {
            self.change(slot, |entry| entry.set_expiry(expiry));
        }
        Ok(())
    }

    pub fn length_of(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let string = match self.find_to_read(key) {
            Some(slot) => self.database.table.at(slot).string()?,
            None => &[],
        };
        to.length(string.len());
        Ok(())
    }

    pub fn delete(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let found = self.find(key);
        if let Some(slot) = found {
            self.remove(slot);
        }
        to.integer(i64::from(found.is_some()));
    }

    pub fn exists(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let found = self.find_to_read(key);
        to.integer(i64::from(found.is_some()));
    }
}
