//! `gossamer recv` and a hostile sender that knows the code: nothing is written outside of the directory, and nothing
//! hangs.

use crate::common::files::{Waiting, event, noise, recv};
use crate::common::{Finished, Scratch, finish, gossamer};
use gossamer::stream::{self, Length};
use gossamer_cli::files::content::digest::{Digest, Hasher};
use gossamer_cli::files::pairing::code::{Code, stream_key};
use gossamer_cli::files::pairing::control::ControlConnection;
use gossamer_cli::files::protocol::block::options;
use gossamer_cli::files::protocol::manifest::{Entry, Kind, Manifest};
use gossamer_cli::files::protocol::message::{Answer, Offer, PROTOCOL, ReceiverMessage, SenderMessage};
use gossamer_cli::files::protocol::record::{Record, Records};
use gossamer_cli::secure::codec::{decode, encode};
use gossamer_cli::secure::key::Key;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const BLOCK: u32 = 64 << 10;

fn entry(path: &str, kind: Kind) -> Entry {
    Entry { path: path.into(), kind, mode: 0o644, changed: (1, 2) }
}

fn file(path: &str, bytes: u64) -> Entry {
    entry(path, Kind::File(bytes))
}

/// A sender that says whatever it likes.
struct Hostile {
    control: ControlConnection,
    /// What the receiver said first.
    answer: ReceiverMessage,
    key: Key,
    address: String,
}

impl Hostile {
    fn new(receiver: &Waiting, offer: &Offer) -> Self {
        let key = Code::parse(&receiver.code).unwrap().key();
        let address = receiver.address.clone();
        let (control, answer) = ControlConnection::connect(&address, &key, offer).unwrap();
        Self { control, answer, key, address }
    }

    fn offer() -> Offer {
        Offer { protocol: PROTOCOL, version: "0".into(), retry_seconds: 0, block: BLOCK, plain: false }
    }

    fn list(&mut self, entries: &[Entry]) {
        self.control.sender.send(&SenderMessage::Entries(entries.to_vec())).unwrap();
        self.control.sender.send(&SenderMessage::All { missing: 0 }).unwrap();
    }

    /// The answers, and the stream.
    fn stream(&mut self) -> (Vec<Answer>, stream::Sender) {
        let mut answers = Vec::new();
        loop {
            match self.control.receiver.receive().unwrap() {
                ReceiverMessage::Answers(more) => answers.extend(more),
                ReceiverMessage::Ready { nonce } => {
                    let key = stream::Key::from_hex(&stream_key(&self.key, &nonce)).unwrap();
                    let options = options(BLOCK as usize, false).key(key);
                    return (
                        answers,
                        stream::Sender::connect(&*self.address, Length::Open, options).unwrap(),
                    );
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Lists these entries and sends these records; returns how the receiver ends.
fn attack(output: &Path, entries: &[Entry], records: &[Record]) -> (Vec<Answer>, Finished) {
    attack_saying(output, entries, records, &[])
}

/// As `attack`; on the control connection, it also says which entries were sent, how long they are, and their digests.
fn attack_saying(
    output: &Path,
    entries: &[Entry],
    records: &[Record],
    said: &[(u32, u64, Digest)],
) -> (Vec<Answer>, Finished) {
    let receiver = recv(output, &[]);
    let mut hostile = Hostile::new(&receiver, &Hostile::offer());
    hostile.list(entries);
    let (answers, mut stream) = hostile.stream();
    for &(entry, bytes, digest) in said {
        hostile.control.sender.send(&SenderMessage::Sent { entry, bytes, digest }).unwrap();
    }
    for record in records {
        let (head, bytes) = record.parts();
        stream.write_everything(&head).unwrap();
        stream.write_everything(bytes).unwrap();
    }
    // It fails if the receiver has had enough.
    let _finished = stream.finish();
    (answers, receiver.started.finish())
}

#[test]
fn lists_that_lead_out_are_refused_as_a_whole() {
    let scratch = Scratch::new("hostile-lists");
    let to = scratch.path("to");
    fs::create_dir(&to).unwrap();
    let long = "a/".repeat(3000);
    for list in [
        &["../out"][..],
        &["/tmp/gossamer-out"],
        &["a/../../out"],
        &["a", "a"],
        &["a", "a/b"],
        &["not listed/a"],
        &[""],
        &["."],
        &["a\0b"],
        &["x.gossamer-part"],
        &[&long],
    ] {
        let receiver = recv(&to, &[]);
        let mut hostile = Hostile::new(&receiver, &Hostile::offer());
        hostile.list(&list.iter().map(|path| file(path, 1)).collect::<Vec<_>>());
        assert!(
            matches!(hostile.control.receiver.receive().unwrap(), ReceiverMessage::Stopped { .. }),
            "{list:?}"
        );
        receiver.started.finish().ended_with(1).said("is refused");
    }
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
}

#[test]
fn links_that_lead_out_are_refused_and_none_is_followed() {
    let scratch = Scratch::new("hostile-links");
    let (to, out) = (scratch.path("to"), scratch.path("out"));
    fs::create_dir_all(&to).unwrap();
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("kept"), "kept").unwrap();
    symlink(&out, to.join("there")).unwrap();
    symlink(out.join("kept"), to.join("kept")).unwrap();
    symlink(out.join("new"), to.join("part.gossamer-part")).unwrap();
    let list = [
        entry("away", Kind::Link(out.to_str().unwrap().into())),
        entry("up", Kind::Link(b"..".into())),
        entry("there", Kind::Directory),
        file("there/new", 1),
        file("kept", 1),
        file("part", 1),
    ];
    let begin = |entry| Record::Begin { entry, at: 0 };
    let (answers, received) = attack(&to, &list, &[begin(5)]);
    for (answer, entry) in answers.iter().zip(&list).take(5) {
        assert!(matches!(answer, Answer::Refused(_)), "{entry:?}: {answer:?}");
    }
    received.ended_with(1).said("symbolic link");
    assert_eq!(fs::read(out.join("kept")).unwrap(), b"kept");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    assert!(!to.join("away").exists() && !to.join("up").exists());
}

#[test]
fn a_link_of_the_transfer_is_not_written_through() {
    let scratch = Scratch::new("hostile-through");
    let to = scratch.path("to");
    fs::create_dir(&to).unwrap();
    // Links come last, in whatever order the list has them.
    let list = [entry("d", Kind::Directory), entry("d/l", Kind::Link(b"../f".into())), file("f", 1)];
    let mut hasher = Hasher::default();
    hasher.update(0, b"x");
    let records = [Record::Begin { entry: 2, at: 0 }, Record::Data { at: 0, bytes: b"x" }, Record::End];
    attack_saying(&to, &list, &records, &[(2, 1, hasher.finish(1))]).1.ended_with(0);
    assert_eq!(fs::read(to.join("d/l")).unwrap(), b"x");
}

#[test]
fn records_that_make_no_sense_end_the_transfer() {
    let scratch = Scratch::new("hostile-records");
    let to = scratch.path("to");
    fs::create_dir(&to).unwrap();
    let begin = |entry, at| Record::Begin { entry, at };
    let data = |at| Record::Data { at, bytes: b"abc" };
    let list = [file("a", 10), file("b", 10)];
    for records in [
        &[begin(7, 0)][..],
        &[begin(u32::MAX, 0)],
        &[begin(0, 5)],
        &[begin(0, 0), begin(1, 0)],
        &[data(0)],
        &[begin(0, 0), data(8)],
        &[begin(0, 0), data(u64::MAX)],
        &[begin(0, 0), data(3), data(0)],
        &[Record::End],
        &[begin(0, 0), Record::End],
        &[begin(0, 0), Record::Compressed { at: 0, plain: 5, bytes: b"no zstd" }],
        &[begin(0, 0), Record::Compressed { at: 0, plain: usize::MAX, bytes: b"" }],
        &[Record::Fail { entry: 9, why: "" }],
    ] {
        attack_saying(&to, &list, records, &[(0, 9, 0)]).1.ended_with(1).said("makes no sense");
        assert!(!to.join("a").exists() && !to.join("b").exists(), "{records:?}");
    }
}

#[test]
fn contents_with_another_digest_get_no_name() {
    let scratch = Scratch::new("hostile-digest");
    let records = [Record::Begin { entry: 0, at: 0 }, Record::Data { at: 0, bytes: b"abc" }, Record::End];
    let (_, received) = attack_saying(&scratch.0, &[file("a", 3), file("never", 1)], &records, &[(0, 3, 1)]);
    received.ended_with(1).said("contents other than those that were sent").said("was not sent");
    assert_eq!(event(&received, "done")["failed"], 2);
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
}

#[test]
fn another_version_is_told_so() {
    let scratch = Scratch::new("hostile-version");
    for (offer, status, words) in [
        (Offer { protocol: PROTOCOL + 1, ..Hostile::offer() }, 3, "install one version"),
        (Offer { block: 1 << 30, ..Hostile::offer() }, 1, "which is not possible"),
        (Offer { block: 0, ..Hostile::offer() }, 1, "which is not possible"),
        (Offer { block: 100_000, ..Hostile::offer() }, 1, "which is not possible"),
    ] {
        let receiver = recv(&scratch.0, &[]);
        let hostile = Hostile::new(&receiver, &offer);
        assert!(matches!(hostile.answer, ReceiverMessage::Stopped { .. }));
        receiver.started.finish().ended_with(status).said(words);
    }
}

#[test]
fn a_sender_that_goes_at_any_point_is_lost() {
    let scratch = Scratch::new("hostile-gone");
    for point in 0..3 {
        let receiver = recv(&scratch.0, &[]);
        let mut hostile = Hostile::new(&receiver, &Hostile::offer());
        if point > 0 {
            hostile.list(&[file("a", 3)]);
        }
        if point > 1 {
            hostile.stream();
        }
        drop(hostile);
        receiver.started.finish().ended_with(75).said("the sender was lost");
    }
}

#[test]
fn names_do_not_drive_the_terminal() {
    let scratch = Scratch::new("hostile-names");
    let from = scratch.path("from");
    fs::create_dir_all(from.join("\u{1b}[31m\ngossamer: all is well.gossamer-part")).unwrap();
    let sent =
        finish(gossamer(&["send", "--to", "127.0.0.1:1", "--code", "00001111222233334444"]).arg(&from));
    assert!(sent.ended_with(3).err.contains("\\u{1b}[31m\\ngossamer: all is well"), "{sent:?}");
}

#[test]
fn bytes_of_any_kind_are_refused_or_read() {
    let samples = [
        encode(&SenderMessage::Entries(vec![file("a/b", 5), entry("l", Kind::Link(b"x".into()))])).unwrap(),
        encode(&SenderMessage::All { missing: 3 }).unwrap(),
        encode(&ReceiverMessage::Answers(vec![
            Answer::Have { bytes: 1, digest: 2 },
            Answer::Refused("no".into()),
        ]))
        .unwrap(),
        Record::Fail { entry: 1, why: "because" }.parts().0.to_vec(),
    ];
    for seed in 0..20_000 {
        let chance = noise(seed, 64);
        let mut bytes = match seed % 5 {
            4 => chance[8..8 + usize::from(chance[0]) % 56].to_vec(),
            sample => samples[sample as usize].clone(),
        };
        if let Some(length) = bytes.len().checked_sub(1) {
            bytes[usize::from(chance[1]) % (length + 1)] ^= chance[2];
            bytes.truncate(bytes.len() - usize::from(chance[3]) % 3 * length / 4);
        }
        let _ = decode::<Offer>(&bytes);
        let _ = decode::<ReceiverMessage>(&bytes);
        if let Ok(SenderMessage::Entries(entries)) = decode(&bytes) {
            let _ = Manifest::default().add(entries);
        }
        assert!(Records::of(&bytes).count() <= bytes.len());
    }
    // A count that promises more than there is takes no memory.
    assert!(decode::<SenderMessage>(&[0, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
}
