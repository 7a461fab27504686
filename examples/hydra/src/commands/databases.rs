//! Commands about more than one database: MOVE, SWAPDB.

use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{
    DATABASE, FIRST_DATABASE, NO_INTEGER, Refusal, SAME_OBJECT, SECOND_DATABASE, out_of_bounds,
};
use crate::store::operation::Operation;

/// A number of a database for SWAPDB.
fn parse(text: &[u8], otherwise: Refusal) -> Result<i32, Refusal> {
    number::parse(text).and_then(|number| i32::try_from(number).ok()).ok_or(otherwise)
}

fn in_range(connection: &Connection, number: i32) -> Result<u16, Refusal> {
    let databases = connection.server.settings.read().databases;
    u16::try_from(number).ok().filter(|number| *number < databases).ok_or(DATABASE)
}

/// The number of a database that exists.
pub fn number(connection: &Connection, text: &[u8]) -> Result<u16, Refusal> {
    let number = number::parse(text).ok_or(NO_INTEGER)?;
    let number = i32::try_from(number).map_err(|_| out_of_bounds(i32::MIN.into(), i32::MAX.into()))?;
    in_range(connection, number)
}

/// MOVE.
pub fn move_key(connection: &mut Connection, arguments: &[&[u8]]) {
    let key = arguments[1];
    match number(connection, arguments[2]) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(target) if target == connection.plan.database => connection.refuse(&SAME_OBJECT),
        Ok(target) => connection.ask(Operation::MoveKey, key, &[key, &number::text(target.into())]),
    }
}

/// SWAPDB.
pub fn swap(connection: &mut Connection, arguments: &[&[u8]]) {
    match two(connection, arguments) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(numbers) => {
            let [first, second] = numbers.map(|number| number::text(number.into()));
            let hold = connection.hold_every_shard();
            connection.ask_every_shard(Operation::SwapDatabases, &[&first, &second]);
            connection.let_go(hold);
            connection.plan.reply().ok();
        }
    }
}

fn two(connection: &Connection, arguments: &[&[u8]]) -> Result<[u16; 2], Refusal> {
    let first = parse(arguments[1], FIRST_DATABASE)?;
    let second = parse(arguments[2], SECOND_DATABASE)?;
    Ok([in_range(connection, first)?, in_range(connection, second)?])
}
