//! What a shard can be asked to do.

use crate::protocol::refusal::{OUT_OF_MEMORY, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::hashes::Parts;
use crate::store::sorted_bounds::By;
use crate::store::value::list::End;

macro_rules! operations {
    ($($name:ident)*) => {
        /// Most are commands about one key, which is the first argument. Those after `PopFor` are parts of commands
        /// about several keys, or about all keys.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(u8)]
        pub enum Operation {
            $($name,)*
        }

        impl Operation {
            const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

operations! {
    Get Set SetNx SetEx PSetEx GetSet GetDel GetEx Incr Decr IncrBy DecrBy IncrByFloat Append StrLen
    GetRange SetRange GetBit SetBit BitCount BitPos BitField BitFieldRo
    Del Exists Type Encoding RefCount IdleTime Frequency MemoryUsage
    Expire PExpire ExpireAt PExpireAt Ttl PTtl ExpireTime PExpireTime Persist
    LPush RPush LPushX RPushX LPop RPop LLen LRange LIndex LSet LInsert LRem LTrim LPos
    HSet HMSet HSetNx HGet HMGet HDel HLen HStrLen HExists HGetAll HKeys HVals HIncrBy HIncrByFloat HRandField HScan
    SAdd SRem SCard SIsMember SMIsMember SMembers SPop SRandMember SScan
    ZAdd ZIncrBy ZScore ZMScore ZCard ZRem ZRank ZRevRank ZPopMin ZPopMax ZRandMember ZScan ZCount ZLexCount
    ZRange ZRevRange ZRangeByScore ZRevRangeByScore ZRangeByLex ZRevRangeByLex
    ZRemRangeByRank ZRemRangeByScore ZRemRangeByLex
    PopFor SortedRangeEncoded GetOrNull Fetch Take Put Store HasRoom Watch IsUnchanged Unwatch
    Keys Scan RandomKey Size Flush FlushAll MoveKey SwapDatabases
}

impl Operation {
    /// The number by which a batch names it.
    #[inline]
    pub fn decode(code: u8) -> Self {
        Self::ALL[usize::from(code)]
    }

    /// Whether it may take memory, and so is refused when none is left.
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
                | BitField
                | LPush
                | RPush
                | LPushX
                | RPushX
                | LSet
                | LInsert
                | HSet
                | HMSet
                | HSetNx
                | HIncrBy
                | HIncrByFloat
                | SAdd
                | ZAdd
                | ZIncrBy
        )
    }
}

impl Shard {
    /// Does what is asked, and replies.
    #[inline]
    pub fn execute(&mut self, operation: Operation, arguments: &[&[u8]], to: &mut Replies<'_>) {
        // The holder of the shard has already asked for room.
        if self.eviction.limit != 0 && self.held_by == 0 && operation.may_grow() && !self.make_room() {
            return to.error(&OUT_OF_MEMORY.0);
        }
        if let Err(refusal) = self.try_execute(operation, arguments, to) {
            to.error(&refusal.0);
        }
        self.give_turns();
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
            StrLen => return self.length_of(arguments[0], to),
            GetRange => return self.get_range(arguments, to),
            SetRange => return self.set_range(arguments, to),
            GetBit => return self.get_bit(arguments, to),
            SetBit => return self.set_bit(arguments, to),
            BitCount => return self.count_bits(arguments, to),
            BitField => return self.bit_fields(arguments, to),
            BitFieldRo => return self.bit_fields_to_read(arguments, to),
            BitPos => return self.position_of_bit(arguments, to),
            Del => self.delete(arguments[0], to),
            Exists => self.exists(arguments[0], to),
            Type => self.type_of(arguments[0], to),
            Encoding => self.encoding_of(arguments[0], to),
            RefCount => self.references_of(arguments[0], to),
            IdleTime => return self.idle_time_of(arguments[0], to),
            MemoryUsage => self.memory_of(arguments[0], to),
            Frequency => return self.frequency_of(arguments[0], to),
            Expire => return self.expire(arguments, to, 1000, true, "expire"),
            PExpire => return self.expire(arguments, to, 1, true, "pexpire"),
            ExpireAt => return self.expire(arguments, to, 1000, false, "expireat"),
            PExpireAt => return self.expire(arguments, to, 1, false, "pexpireat"),
            Ttl => self.time_to_live(arguments[0], to, 1000, true),
            PTtl => self.time_to_live(arguments[0], to, 1, true),
            ExpireTime => self.time_to_live(arguments[0], to, 1000, false),
            PExpireTime => self.time_to_live(arguments[0], to, 1, false),
            Persist => self.persist(arguments[0], to),
            LPush => return self.push(arguments, to, End::Left),
            RPush => return self.push(arguments, to, End::Right),
            LPushX => return self.push_if_present(arguments, to, End::Left),
            RPushX => return self.push_if_present(arguments, to, End::Right),
            LPop => return self.pop(arguments, to, End::Left),
            RPop => return self.pop(arguments, to, End::Right),
            LLen => return self.list_length(arguments[0], to),
            LRange => return self.list_range(arguments, to),
            LIndex => return self.list_element(arguments, to),
            LSet => return self.set_list_element(arguments, to),
            LInsert => return self.insert_list_element(arguments, to),
            LRem => return self.remove_list_elements(arguments, to),
            LTrim => return self.trim_list(arguments, to),
            LPos => return self.positions(arguments, to),
            HSet => return self.set_fields(arguments, to, "hset"),
            HMSet => return self.set_fields(arguments, to, "hmset"),
            HSetNx => return self.set_field_if_absent(arguments, to),
            HGet => return self.get_field(arguments, to),
            HMGet => return self.get_fields(arguments, to),
            HDel => return self.remove_fields(arguments, to),
            HLen => return self.hash_length(arguments[0], to),
            HStrLen => return self.field_length(arguments, to),
            HExists => return self.has_field(arguments, to),
            HGetAll => return self.all_fields(arguments[0], to, Parts::Both),
            HKeys => return self.all_fields(arguments[0], to, Parts::Fields),
            HVals => return self.all_fields(arguments[0], to, Parts::Values),
            HIncrBy => return self.increment_field(arguments, to),
            HIncrByFloat => return self.increment_field_by_float(arguments, to),
            HRandField => return self.random_fields(arguments, to),
            HScan => return self.scan_hash(arguments, to),
            SAdd => return self.add_members(arguments, to),
            SRem => return self.remove_members(arguments, to),
            SCard => return self.set_length(arguments[0], to),
            SIsMember => return self.is_member(arguments, to),
            SMIsMember => return self.are_members(arguments, to),
            SMembers => return self.members(arguments[0], to),
            SPop => return self.pop_members(arguments, to),
            SRandMember => return self.random_members(arguments, to),
            SScan => return self.scan_set(arguments, to),
            ZAdd => return self.add_ranked(arguments, to),
            ZIncrBy => return self.increment_score(arguments, to),
            ZScore => return self.score(arguments, to),
            ZMScore => return self.scores(arguments, to),
            ZCard => return self.ranked_length(arguments[0], to),
            ZRem => return self.remove_ranked(arguments, to),
            ZRank => return self.rank(arguments, to, false),
            ZRevRank => return self.rank(arguments, to, true),
            ZPopMin => return self.pop_ranked(arguments, to, false),
            ZPopMax => return self.pop_ranked(arguments, to, true),
            ZRandMember => return self.random_ranked(arguments, to),
            ZScan => return self.scan_sorted(arguments, to),
            ZCount => return self.count_range(arguments, to, By::Score),
            ZLexCount => return self.count_range(arguments, to, By::Name),
            ZRange => return self.sorted_range(arguments, to, None, false),
            ZRevRange => return self.sorted_range(arguments, to, Some(By::Rank), true),
            ZRangeByScore => return self.sorted_range(arguments, to, Some(By::Score), false),
            ZRevRangeByScore => return self.sorted_range(arguments, to, Some(By::Score), true),
            ZRangeByLex => return self.sorted_range(arguments, to, Some(By::Name), false),
            ZRevRangeByLex => return self.sorted_range(arguments, to, Some(By::Name), true),
            ZRemRangeByRank => return self.remove_range(arguments, to, By::Rank),
            ZRemRangeByScore => return self.remove_range(arguments, to, By::Score),
            ZRemRangeByLex => return self.remove_range(arguments, to, By::Name),
            PopFor => return self.pop_for(arguments, to),
            SortedRangeEncoded => return self.sorted_range_encoded(arguments, to),
            GetOrNull => self.get_or_null(arguments[0], to),
            Fetch => self.fetch(arguments[0], to),
            Take => self.take(arguments[0], to),
            Put => self.put_taken(arguments, to),
            Store => self.store(arguments, to),
            HasRoom => self.has_room(to),
            Watch => self.watch(arguments[0], to),
            IsUnchanged => self.is_unchanged(arguments, to),
            Unwatch => self.unwatch(arguments[0], to),
            Keys => self.keys(arguments[0], to),
            Scan => self.scan(arguments, to),
            RandomKey => self.random_key(to),
            Size => to.length(self.database.table.length()),
            Flush => self.flush(to),
            FlushAll => self.flush_all(to),
            MoveKey => self.move_key(arguments, to),
            SwapDatabases => self.swap_databases(arguments, to),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_what_its_code_says() {
        assert!(Operation::ALL.len() <= 128, "the upper bit of a code has another meaning");
        for (code, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!((*operation as usize, Operation::decode(code as u8)), (code, *operation));
        }
    }
}
