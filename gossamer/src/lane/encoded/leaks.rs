//! A connection carries only what was sent, and zeros: nothing that is left of other messages, or of a stack.

use crate::fabric::SlotMemory;
use crate::fabric::Slots;
use crate::fabric::tcp::frame::{Content, Frame, decode};
use crate::fabric::tcp::{Connection, TcpWriter};
use crate::lane::client::Client;
use crate::lane::encoded::{Answer, Argument, Fixed, Packed};
use crate::lane::operation::Delegated;
use crate::lane::property::{ROOT, Root};
use crate::transport::purpose::Purpose;
use crate::transport::records::checked;
use crate::transport::seal::agreement::ConnectionSide;
use crate::wire::NoRef;
use crate::wire::word::{Word, initialised};
use gossamer_macros::NoRef;
use std::hint::black_box;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

/// The bytes that must not be seen.
const SECRET: u8 = 0xa5;

#[derive(NoRef, Clone, Copy)]
struct Padded {
    first: u8,
    number: u64,
    last: u8,
}

const PADDED: Padded = Padded { first: 1, number: 0x0202_0202_0202_0202, last: 3 };

/// Leaves the secret on the stack.
#[inline(never)]
fn soil() {
    black_box(&[SECRET; 8 * 1024]);
}

/// The client of a lane over a connection, and the other end of the connection.
fn client() -> (Client<TcpWriter>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let records = checked(Purpose::STREAM, ConnectionSide::Connects);
    let connection = Connection::new((socket, records)).unwrap();
    let writer = TcpWriter { connection, worker: 0, slots: Slots::Requests };
    (Client::new(writer, SlotMemory::far()), listener.accept().unwrap().0)
}

/// The words that are sent for one request.
fn sent<C: NoRef>(client: &Client<TcpWriter>, peer: &mut TcpStream, argument: impl Argument<C>) -> Vec<u8> {
    soil();
    let delegated = Delegated::travelling::<Root, _>(|_: &mut Root, _: C| ());
    let encoded = delegated.operation().encoded().unwrap();
    // SAFETY: it fits an empty batch, and it is not served.
    unsafe { client.push_encoded::<C, (), _>(encoded, ROOT, argument, |_| ()) };
    client.publish();
    client.fabric().connection.flush().unwrap();
    let (mut words, mut word) = (Vec::new(), [0; 8]);
    // The head of the record.
    peer.read_exact(&mut word).unwrap();
    loop {
        peer.read_exact(&mut word).unwrap();
        words.push(u64::from_ne_bytes(word));
        if let Some((Frame { content: Content::Write(write), .. }, _)) = decode(&words).unwrap() {
            // What follows the request's header.
            let words = write.body[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
            // What follows the body of the record.
            peer.read_exact(&mut word).unwrap();
            return words;
        }
    }
}

#[test]
fn a_request_holds_its_arguments_and_zeros() {
    let (client, mut peer) = client();
    let secrets = [[u64::from_ne_bytes([SECRET; 8]); 30]; 2];
    assert!(sent(&client, &mut peer, Packed::new(secrets.to_vec()).unwrap()).contains(&SECRET));
    let words = sent(&client, &mut peer, Fixed(PADDED));
    assert_eq!(words, [1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(sent(&client, &mut peer, Fixed((7_u8, true))), [7, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(sent(&client, &mut peer, Fixed((Some(7_u8), 9_u8))), [1, 7, 9, 0, 0, 0, 0, 0]);
    assert_eq!(sent(&client, &mut peer, Fixed((None::<u8>, 9_u8))), [0, 9, 0, 0, 0, 0, 0, 0]);
    let text = sent(&client, &mut peer, Packed::new(String::from("abc")).unwrap());
    let length = (8_u64 + 3).to_ne_bytes();
    assert_eq!(text[..8], length);
    assert_eq!(text[8..], [3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 0, 0]);
    let many = sent(&client, &mut peer, Packed::new(vec![PADDED; 3]).unwrap());
    assert!(!many.contains(&SECRET), "{many:x?}");
}

/// The words of a result.
fn answered<U: NoRef>(result: U) -> Vec<u8> {
    soil();
    let mut place = [Word::new(u64::from_ne_bytes([SECRET; 8])); 40];
    let mut answer = Answer { place: &mut place, used: 0, late: None };
    answer.write(result);
    let used = answer.used;
    // SAFETY: W6, which this test checks.
    unsafe { initialised(&place[..used]) }.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn a_response_holds_its_result_and_zeros() {
    assert_eq!(answered(PADDED), [1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 0, 0, 0, 0, 0, 0]);
    assert_eq!(answered(7_u8), [7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(answered(None::<u64>), [0; 16]);
    let text = answered(String::from("abc"));
    assert_eq!(text[16..], [b'a', b'b', b'c', 0, 0, 0, 0, 0]);
}
