//! What is asked of a shard.

use crate::protocol::refusal::{OUT_OF_MEMORY, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;

/// Most are commands about one key, which is the first argument. Those after `Take` are parts of commands about several keys, or all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum Operation {
    Get,
    Set,
    SetNx,
    SetEx,
    PSetEx,
    GetSet,
    GetDel,
    GetEx,
    Incr,
    Decr,
    IncrBy,
    DecrBy,
    IncrByFloat,
    Append,
    StrLen,
    GetRange,
    SetRange,
    GetBit,
    SetBit,
    Del,
    Exists,
    Type,
    Encoding,
    RefCount,
    Expire,
    PExpire,
    ExpireAt,
    PExpireAt,
    Ttl,
    PTtl,
    ExpireTime,
    PExpireTime,
    Persist,
    Take,
    Put,
    HasRoom,
    Watch,
    IsUnchanged,
    Unwatch,
    Keys,
    Scan,
    RandomKey,
    Size,
    Flush,
}

impl Operation {
    const ALL: [Self; 44] = [
        Self::Get,
        Self::Set,
        Self::SetNx,
        Self::SetEx,
        Self::PSetEx,
        Self::GetSet,
        Self::GetDel,
        Self::GetEx,
        Self::Incr,
        Self::Decr,
        Self::IncrBy,
        Self::DecrBy,
        Self::IncrByFloat,
        Self::Append,
        Self::StrLen,
        Self::GetRange,
        Self::SetRange,
        Self::GetBit,
        Self::SetBit,
        Self::Del,
        Self::Exists,
        Self::Type,
        Self::Encoding,
        Self::RefCount,
        Self::Expire,
        Self::PExpire,
        Self::ExpireAt,
        Self::PExpireAt,
        Self::Ttl,
        Self::PTtl,
        Self::ExpireTime,
        Self::PExpireTime,
        Self::Persist,
        Self::Take,
        Self::Put,
        Self::HasRoom,
        Self::Watch,
        Self::IsUnchanged,
        Self::Unwatch,
        Self::Keys,
        Self::Scan,
        Self::RandomKey,
        Self::Size,
        Self::Flush,
    ];

    /// As it travels in a batch.
    pub fn decode(code: u8) -> Self {
        Self::ALL[usize::from(code)]
    }

    /// Whether it may take memory, so that it is refused when there is none.
    pub fn may_grow(self) -> bool {
        use Operation::*;
        matches!(
            self,
            Set | SetNx
                | SetEx
                | PSetEx
                | GetSet
                | Incr
                | Decr
                | IncrBy
                | DecrBy
                | IncrByFloat
                | Append
                | SetRange
                | SetBit
        )
    }
}

impl Shard {
    /// Does what is asked, and replies.
    #[inline]
    pub fn execute(&mut self, operation: Operation, arguments: &[&[u8]], to: &mut Replies<'_>) {
        if self.eviction.limit != 0 && operation.may_grow() && !self.make_room() {
            return to.error(&OUT_OF_MEMORY.0);
        }
        if let Err(refusal) = self.try_execute(operation, arguments, to) {
            to.error(&refusal.0);
        }
    }

    #[inline]
    fn try_execute(
        &mut self,
        operation: Operation,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
    ) -> Result<(), Refusal> {
        use Operation::*;
        match operation {
            Get => return self.get(arguments[0], to),
            Set => return self.set(arguments, to),
            SetNx => return self.set_if_absent(arguments, to),
            SetEx => return self.set_for_a_while(arguments, to, 1000, "setex"),
            PSetEx => return self.set_for_a_while(arguments, to, 1, "psetex"),
            GetSet => return self.get_and_set(arguments, to),
            GetDel => return self.get_and_delete(arguments[0], to),
            GetEx => return self.get_and_expire(arguments, to),
            Incr => return self.increment(arguments[0], 1, to),
            Decr => return self.increment(arguments[0], -1, to),
            IncrBy => return self.increment_by(arguments, to),
            DecrBy => return self.decrement_by(arguments, to),
            IncrByFloat => return self.increment_by_float(arguments, to),
            Append => return self.append(arguments, to),
            StrLen => self.length_of(arguments[0], to),
            GetRange => return self.get_range(arguments, to),
            SetRange => return self.set_range(arguments, to),
            GetBit => return self.get_bit(arguments, to),
            SetBit => return self.set_bit(arguments, to),
            Del => self.delete(arguments[0], to),
            Exists => self.exists(arguments[0], to),
            Type => self.type_of(arguments[0], to),
            Encoding => self.encoding_of(arguments[0], to),
            RefCount => self.references_of(arguments[0], to),
            Expire => return self.expire(arguments, to, 1000, true, "expire"),
            PExpire => return self.expire(arguments, to, 1, true, "pexpire"),
            ExpireAt => return self.expire(arguments, to, 1000, false, "expireat"),
            PExpireAt => return self.expire(arguments, to, 1, false, "pexpireat"),
            Ttl => self.time_to_live(arguments[0], to, 1000, true),
            PTtl => self.time_to_live(arguments[0], to, 1, true),
            ExpireTime => self.time_to_live(arguments[0], to, 1000, false),
            PExpireTime => self.time_to_live(arguments[0], to, 1, false),
            Persist => self.persist(arguments[0], to),
            Take => self.take(arguments[0], to),
            Put => self.put_taken(arguments, to),
            HasRoom => self.has_room(to),
            Watch => self.watch(arguments[0], to),
            IsUnchanged => self.is_unchanged(arguments, to),
            Unwatch => self.unwatch(arguments[0], to),
            Keys => self.keys(arguments[0], to),
            Scan => self.scan(arguments, to),
            RandomKey => self.random_key(to),
            Size => to.length(self.table.length()),
            Flush => self.flush(to),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_what_its_code_says() {
        for (code, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!((operation as usize, Operation::decode(code as u8)), (code, operation));
        }
    }
}
