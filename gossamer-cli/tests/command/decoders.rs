//! Invalid bytes from outside: every decoder refuses them, and none panics or takes much memory.
use gossamer::rack::rdma::{CheckParameters, MachineReport, RdmaSettings};
use gossamer_cli::node::ending::{self, MOST_WORDS};
use gossamer_cli::node::message::{Command, Event};
use gossamer_cli::rack::config::Rack;
use gossamer_cli::rack::examination::{ExaminationReply, ExaminationStep};
use gossamer_cli::rack::finding::Finding;
use gossamer_cli::rack::protocol::{Hello, InspectedNode, Inspection, RdmaReply, RdmaStep, Reply, Request};
use gossamer_cli::secure::codec::{decode, encode};
use gossamer_cli::secure::key::Key;
use gossamer_cli::secure::noise::{Frames, Handshake, LONGEST, PIECE, Sealer};
use gossamer_cli::terminal::lines::{Lines, PrefixStyle};
use gossamer_cli::terminal::stream::Stream;
use std::time::Duration;

fn key(byte: u8) -> Key {
    Key::new([byte; 32])
}

/// Both ends of a connection.
fn connection() -> (Sealer, Frames) {
    let (mut one, mut two) = (Handshake::initiator(&key(1)).unwrap(), Handshake::responder(&key(1)).unwrap());
    two.read(&one.write().unwrap()).unwrap();
    one.read(&two.write().unwrap()).unwrap();
    (one.finish().unwrap().0, two.finish().unwrap().1)
}

/// What these bytes are decoded to: the messages before the first error, and whether there was one.
fn received(frames: &mut Frames, bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    frames.received().extend_from_slice(bytes);
    let mut messages = Vec::new();
    loop {
        match frames.take() {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, false),
            Err(_) => return (messages, true),
        }
    }
}

/// Numbers that look random, and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

fn samples() -> Vec<Vec<u8>> {
    let requests = [
        Request::Status(vec![("GOSSAMER_VERBS".into(), "a:1".into())]),
        Request::CheckRdma { variables: Vec::new(), report: vec![1, 2, 3] },
        Request::RdmaStep(RdmaStep::Connect { pair: 1, parameters: vec![0] }),
        Request::List { ended: true },
        Request::Health,
        Request::Kill { application: "0123abcd".into(), by: "me".into() },
        Request::Logs { application: "0123abcd".into() },
        Request::Binary(vec![1; 100]),
        Request::Start { addresses: "unix:a,unix:b".into() },
        Request::Command(Command::Input(vec![2; 50])),
        Request::Command(Command::Signal(15)),
        Request::Command(Command::Describe),
        Request::Heartbeat,
        Request::Inspect { application: Some("0123abcd".into()), inspection: Inspection::Fibers },
        Request::Inspect { application: None, inspection: Inspection::Activity { milliseconds: 1000 } },
        Request::Examine(ExaminationStep::Look(vec![("GOSSAMER_VERBS".into(), "a:1".into())])),
        Request::Examine(ExaminationStep::Clock),
        Request::Examine(ExaminationStep::Listen([10, 0, 0, 1].into())),
        Request::Examine(ExaminationStep::Connect(vec![([10, 0, 0, 2], 4000).into()])),
    ];
    let replies = [
        Reply::Refused("no".into()),
        Reply::Logs(None),
        Reply::Ready { ports: vec![1, 2, 3], has_binary: true },
        Reply::Event(Event::Output { node: 7, stream: Stream::Err, bytes: vec![3; 60] }),
        Reply::Event(Event::Lost("gone".into())),
        Reply::Event(Event::Described { node: 7, text: "process 1\n".into() }),
        Reply::Rdma(RdmaReply::Machine(vec![4; 9])),
        Reply::Rdma(RdmaReply::Rate(1 << 40)),
        Reply::Heartbeat,
        Reply::Inspected(InspectedNode {
            application: "0123abcd".into(),
            node: 7,
            pid: 4242,
            answer: Ok(vec![5; 30]),
        }),
        Reply::InspectionOver,
        Reply::Examined(ExaminationReply::Findings(vec![Finding::warning("files", "256", "cost", "mend")])),
        Reply::Examined(ExaminationReply::Clock(Duration::from_secs(7))),
        Reply::Examined(ExaminationReply::Listens(Err("no".into()))),
        Reply::Examined(ExaminationReply::Connected(vec![Ok(()), Err("late".into())])),
    ];
    let requests = requests.iter().map(|request| encode(request).unwrap());
    requests.chain(replies.iter().map(|reply| encode(reply).unwrap())).collect()
}

#[test]
fn bad_messages_are_refused() {
    let status = encode(&Request::Status(Vec::new())).unwrap();
    let table: &[(&str, Vec<u8>)] = &[
        ("nothing", vec![]),
        ("an unknown request", vec![99]),
        ("a number without end", vec![0xff; 11]),
        ("a request and more", [status.as_slice(), &[0]].concat()),
        ("a text that is longer than the message", vec![3, 0xff, 0xff, 0xff, 0x7f, b'a']),
        (
            "bytes that are longer than memory",
            vec![5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ),
        ("a text that is no UTF-8", vec![3, 2, 0xff, 0xfe]),
        (
            "half a kill",
            encode(&Request::Kill { application: "a".into(), by: "b".into() }).unwrap()[..3].to_vec(),
        ),
    ];
    for (what, bytes) in table {
        assert!(decode::<Request>(bytes).is_err(), "{what}");
    }
    assert!(decode::<Hello>(&[]).is_err());
    assert!(decode::<Reply>(&[99]).is_err());
}

#[test]
fn messages_with_errors_in_any_place_do_no_harm() {
    let mut numbers = Numbers(1);
    for sample in samples() {
        for length in 0..sample.len() {
            assert!(
                decode::<Request>(&sample[..length]).is_err() || decode::<Reply>(&sample[..length]).is_err()
            );
        }
        for _ in 0..2000 {
            let mut damaged = sample.clone();
            for _ in 0..=numbers.next() % 3 {
                let place = numbers.next() % damaged.len();
                damaged[place] = numbers.next() as u8;
            }
            // Whatever decodes can be encoded again.
            if let Ok(request) = decode::<Request>(&damaged) {
                assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
            }
            if let Ok(reply) = decode::<Reply>(&damaged) {
                assert_eq!(decode::<Reply>(&encode(&reply).unwrap()).unwrap(), reply);
            }
        }
    }
}

#[test]
fn messages_of_any_length_arrive_in_any_pieces() {
    let (mut sealer, mut frames) = connection();
    for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE, LONGEST] {
        let message: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let sealed = sealer.seal(&message).unwrap();
        let mut arrived = Vec::new();
        for piece in sealed.chunks(10_007) {
            let (messages, failed) = received(&mut frames, piece);
            assert!(!failed);
            arrived.extend(messages);
        }
        assert!(arrived == [message], "{length}");
        assert!(frames.is_empty());
    }
    assert!(sealer.seal(&vec![0; LONGEST + 1]).is_err());
}

#[test]
fn frames_that_are_damaged_forged_repeated_lost_or_swapped_end_the_connection() {
    let good = |sealer: &mut Sealer| sealer.seal(b"message").unwrap();
    let (mut sealer, mut frames) = connection();
    let mut damaged = good(&mut sealer);
    damaged[5] ^= 1;
    assert_eq!(received(&mut frames, &damaged), (vec![], true));

    let (mut sealer, mut frames) = connection();
    let repeated = good(&mut sealer).repeat(2);
    assert_eq!(received(&mut frames, &repeated), (vec![b"message".to_vec()], true));

    let (mut sealer, mut frames) = connection();
    good(&mut sealer);
    assert_eq!(received(&mut frames, &good(&mut sealer)), (vec![], true));

    let (mut sealer, mut frames) = connection();
    let (one, two) = (good(&mut sealer), good(&mut sealer));
    assert_eq!(received(&mut frames, &[two, one].concat()), (vec![], true));

    // From another connection with the same key.
    let (mut other, _) = connection();
    let (_, mut frames) = connection();
    assert_eq!(received(&mut frames, &good(&mut other)), (vec![], true));

    for forged in [&[0, 0][..], &[0, 1, 7], &[0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        let (_, mut frames) = connection();
        assert_eq!(received(&mut frames, forged), (vec![], true));
    }
}

#[test]
fn frames_of_those_who_know_the_key_but_not_the_protocol_end_the_connection() {
    for plain in [&[][..], &[2], &[255, 1]] {
        let (mut sealer, mut frames) = connection();
        assert_eq!(received(&mut frames, &sealer.seal_frame(plain).unwrap()), (vec![], true));
    }
}

#[test]
fn a_message_without_end_takes_bounded_memory() {
    let (mut sealer, mut frames) = connection();
    let mut plain = vec![0; PIECE];
    plain[0] = 0;
    let mut sent = 0;
    while !received(&mut frames, &sealer.seal_frame(&plain).unwrap()).1 {
        sent += PIECE;
        assert!(sent <= LONGEST + PIECE);
    }
}

#[test]
fn handshakes_need_the_key() {
    let mut numbers = Numbers(7);
    let good = Handshake::initiator(&key(1)).unwrap().write().unwrap();
    Handshake::responder(&key(1)).unwrap().read(&good).unwrap();
    assert!(Handshake::responder(&key(2)).unwrap().read(&good).is_err());
    for place in 0..good.len() {
        let mut damaged = good;
        damaged[place] ^= 1 << (numbers.next() % 8);
        // The highest bit of a public key does not count.
        let ignored = place == 31 && damaged[31] ^ good[31] == 0x80;
        assert!(ignored || Handshake::responder(&key(1)).unwrap().read(&damaged).is_err(), "{place}");
    }
    for _ in 0..100 {
        let random = numbers.bytes(48).try_into().unwrap();
        assert!(Handshake::responder(&key(1)).unwrap().read(&random).is_err());
        let mut initiator = Handshake::initiator(&key(1)).unwrap();
        initiator.write().unwrap();
        assert!(initiator.read(&random).is_err());
    }
}

#[test]
fn random_bytes_do_no_harm_anywhere() {
    let mut numbers = Numbers(42);
    for _ in 0..3000 {
        let length = numbers.next() % 200;
        let bytes = numbers.bytes(length);
        assert!(Key::parse(&bytes).is_none());
        assert!(ending::words(&bytes).is_none_or(|words| !words.contains('\n')));
        // A control character may take eight bytes.
        assert!(ending::words(&bytes.repeat(100)).is_none_or(|words| words.len() <= 8 * MOST_WORDS));
        let _ = Rack::parse(&String::from_utf8_lossy(&bytes), "rack.toml");
        let _ = (decode::<Request>(&bytes), decode::<Reply>(&bytes), decode::<Hello>(&bytes));
        let mut lines = Lines::new(0, PrefixStyle::Plain);
        let printed = [lines.push(&bytes), lines.finish()].concat();
        assert!(printed.is_empty() || printed.ends_with(b"\n"));
        let (_, mut frames) = connection();
        assert!(received(&mut frames, &bytes).0.is_empty());
    }
}

#[test]
fn reports_of_rdma_that_are_none_are_refused() {
    let settings = RdmaSettings::find(&|_| None).unwrap();
    let report = MachineReport::of_this_machine(&settings);
    let bytes = report.to_bytes();
    assert_eq!(MachineReport::from_bytes(&bytes), Ok(report));
    let mut numbers = Numbers(7);
    for length in 0..bytes.len() {
        assert!(MachineReport::from_bytes(&bytes[..length]).is_err());
        let mut wrong = bytes.clone();
        wrong[length] ^= numbers.next() as u8;
        // It may be another valid report.
        let _ = MachineReport::from_bytes(&wrong);
        let _ = CheckParameters::from_bytes(&numbers.bytes(length));
    }
}
