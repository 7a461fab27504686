//! What somebody in the middle of a stream, who knows the protocol but not the key, can do at each level of protection.

use crate::wire::HELLO;
use crate::{bytes_at, key, small};
use gossamer::Protection;
use gossamer::stream::{Error, Geometry, Length, Options, Receiver, Route, Sender};
use integration_tests::{in_child, watched};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

const SEALED: [Protection; 2] = [Protection::Authenticated, Protection::Encrypted];
const BLOCK: usize = 1 << 16;
/// Four blocks, and some bytes.
const LENGTH: usize = 4 * BLOCK + 1000;
/// The length of a frame with its checksum, and of a sealed one.
const FRAME: usize = 48;
const SEALED_FRAME: usize = 56;
const TAG: usize = 16;

fn options(protection: Protection) -> Options {
    let geometry = Geometry::new().block(BLOCK).ahead(8).comeback(1);
    // If the other end does not come, that is told.
    let patience = Duration::from_secs(60);
    Options::from(geometry).key(key()).route(Route::Tcp).protection(protection).patience(patience)
}

/// The sender's messages, cut where somebody in the middle can cut them: a frame with its block, or a frame.
type Units = Vec<Vec<u8>>;

/// What somebody in the middle does.
struct Middle {
    /// With the introductions of both ends, that of the connecting end first.
    hellos: fn(&mut [u8], &mut [u8]),
    units: Box<dyn FnOnce(Units) -> Units + Send>,
    /// With an answer of the receiver.
    answer: fn(&mut [u8]),
    /// Sends back to the sender what the sender has sent.
    reflects: bool,
}

impl Middle {
    fn with(units: impl FnOnce(Units) -> Units + Send + 'static) -> Self {
        Self { hellos: |_, _| (), units: Box::new(units), answer: |_| (), reflects: false }
    }

    /// Relays between both ends of one stream.
    fn listen(self, target: SocketAddr, protection: Protection) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (near, far) = (listener.accept().unwrap().0, TcpStream::connect(target).unwrap());
            // If one of them is gone, that is what the test is about.
            let _gone = self.serve(&near, &far, protection);
            let _closed = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
        });
        address
    }

    fn serve(self, mut near: &TcpStream, mut far: &TcpStream, protection: Protection) -> io::Result<()> {
        far.write_all(&exactly(near, 56)?)?;
        near.write_all(&exactly(far, 64)?)?;
        far.write_all(&exactly(near, 32)?)?;
        // The accepting end says nothing before it has heard the other one. So that message is passed on as it is,
        // unless it is to be changed.
        let mut said = exactly(near, HELLO)?;
        (self.hellos)(&mut said, &mut []);
        far.write_all(&said)?;
        let mut heard = exactly(far, HELLO)?;
        (self.hellos)(&mut [], &mut heard);
        near.write_all(&heard)?;
        far.write_all(&exactly(near, 1)?)?;
        let (frame, tag) = match protection {
            Protection::Checked => (FRAME, 0),
            _ => (SEALED_FRAME, TAG),
        };
        let unit = |bytes| exactly(near, frame + tag + bytes);
        let mut units: Units = (0..4).map(|_| unit(BLOCK)).collect::<Result<_, _>>()?;
        units.push(unit(LENGTH % BLOCK)?);
        units.push(exactly(near, frame)?);
        let reflected = self.reflects.then(|| units.concat());
        let changed = (self.units)(units);
        thread::scope(|scope| {
            scope.spawn(move || {
                if let Some(reflected) = reflected {
                    let _gone = near.write_all(&reflected);
                }
                while let Ok(mut answer) = exactly(far, frame) {
                    (self.answer)(&mut answer);
                    if near.write_all(&answer).is_err() {
                        break;
                    }
                }
                near.shutdown(Shutdown::Write)
            });
            let sent = far.write_all(&changed.concat());
            let _gone = far.shutdown(Shutdown::Write);
            // What the sender says after that does not matter.
            let _gone = io::copy(&mut near, &mut io::sink());
            sent
        })
    }
}

fn exactly(mut from: &TcpStream, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// How both ends of a stream ended with somebody between them, the sender first; and what the receiver has accepted.
fn attacked(protection: Protection, middle: Middle) -> (Result<(), Error>, Result<(), Error>, Vec<u8>) {
    let listener = Receiver::bind("127.0.0.1:0", options(protection)).unwrap();
    let address = middle.listen(listener.local_addr().unwrap(), protection);
    let sending = thread::spawn(move || {
        let mut sender = Sender::connect(address, Length::Open, options(protection))?;
        sender.write_everything(&bytes_at(0, LENGTH))?;
        sender.finish()
    });
    let mut taken = Vec::new();
    let received = listener.accept().and_then(|mut receiver| {
        while let Some(block) = receiver.next_block()? {
            taken.extend_from_slice(&block);
        }
        Ok(())
    });
    (sending.join().unwrap(), received, taken)
}

/// What is sent again in an honest stream with the same key.
fn recorded(protection: Protection) -> Units {
    let (tell, told) = std::sync::mpsc::channel();
    let middle = Middle::with(move |units| {
        tell.send(units.clone()).unwrap();
        units
    });
    let (sent, received, taken) = attacked(protection, middle);
    assert_eq!((sent, received), (Ok(()), Ok(())), "{protection}");
    assert_eq!(taken, bytes_at(0, LENGTH));
    told.recv().unwrap()
}

fn with_checksum(text: &mut [u8]) {
    let checksum = xxh3_64(&text[..FRAME - 8]).to_le_bytes();
    text[FRAME - 8..FRAME].copy_from_slice(&checksum);
}

/// Writes something else into a block, and recomputes all checksums.
fn rewritten(mut units: Units) -> Units {
    units[1][FRAME..FRAME + 5].copy_from_slice(b"pwned");
    let mut digest = xxhash_rust::xxh3::Xxh3::new();
    let last = units.len() - 1;
    for unit in &mut units[..last] {
        let hash = xxh3_64(&unit[FRAME..]).to_le_bytes();
        unit[32..40].copy_from_slice(&hash);
        digest.update(&unit[16..24]);
        digest.update(&hash);
        with_checksum(unit);
    }
    units[last][24..32].copy_from_slice(&digest.digest().to_le_bytes());
    with_checksum(&mut units[last]);
    units
}

#[test]
fn what_is_only_checked_can_be_rewritten_and_neither_end_notices() {
    watched(|| {
        let mut middle = Middle::with(rewritten);
        // The receiver confirms the digest of what it got, and the sender is told the digest of what it has sent.
        middle.answer = |answer| {
            if answer[0] == 6 {
                let mut digest = xxhash_rust::xxh3::Xxh3::new();
                for at in (0..LENGTH).step_by(BLOCK) {
                    digest.update(&(at as u64).to_le_bytes());
                    let block = bytes_at(at as u64, BLOCK.min(LENGTH - at));
                    digest.update(&xxh3_64(&block).to_le_bytes());
                }
                answer[8..16].copy_from_slice(&digest.digest().to_le_bytes());
                with_checksum(answer);
            }
        };
        let (sent, received, taken) = attacked(Protection::Checked, middle);
        assert_eq!((sent, received), (Ok(()), Ok(())));
        assert_eq!(&taken[BLOCK..BLOCK + 5], b"pwned");
    });
}

#[test]
fn whatever_is_done_to_what_is_sealed_is_an_error_and_never_other_bytes() {
    watched(|| {
        for protection in SEALED {
            let old = recorded(protection);
            let attacks: Vec<(&str, Box<dyn FnOnce(Units) -> Units + Send>)> = vec![
                ("rewrites a block", Box::new(rewritten)),
                ("changes a bit of a block", changing(1, SEALED_FRAME + TAG + 500)),
                ("changes a bit of the last block", changing(4, SEALED_FRAME + 3)),
                ("changes a bit of a frame", changing(1, 9)),
                ("changes a bit of the end", changing(5, 30)),
                ("swaps two blocks", moving(|units| units.swap(1, 2))),
                ("repeats a block", moving(|units| units.insert(2, units[1].clone()))),
                ("leaves out a block", moving(|units| drop(units.remove(1)))),
                ("leaves out the last block", moving(|units| drop(units.remove(4)))),
                ("ends after a block", moving(|units| drop(units.drain(1..5)))),
                ("cuts at the border of a block", moving(|units| units.truncate(2))),
                ("cuts behind a frame", moving(|units| units[4].truncate(SEALED_FRAME))),
                ("cuts before the end", moving(|units| drop(units.pop()))),
                ("sends nothing", moving(|units| units.clear())),
                (
                    "inserts a frame of another block",
                    moving(|units| {
                        let frame = units[2][..SEALED_FRAME].to_vec();
                        units.insert(1, frame);
                    }),
                ),
                (
                    "swaps contents under their frames",
                    moving(|units| {
                        let [one, other] = [1, 2].map(|index: usize| units[index].split_off(SEALED_FRAME));
                        units[1].extend(other);
                        units[2].extend(one);
                    }),
                ),
                ("puts in a block of another stream", {
                    let block = old[1].clone();
                    moving(move |units| units[1] = block)
                }),
                ("puts in the end of another stream", {
                    let end = old[5].clone();
                    moving(move |units| units[5] = end)
                }),
                ("plays another stream", moving(move |units| *units = old)),
            ];
            for (what, attack) in attacks {
                let cuts = what.starts_with("cuts") || what == "sends nothing";
                let (sent, received, taken) = attacked(protection, Middle::with(attack));
                let error = received.expect_err(what);
                match error {
                    Error::Tampered { at } => {
                        let handed_over = taken.len() / BLOCK * BLOCK;
                        assert!(
                            [handed_over, LENGTH].contains(&(at as usize)),
                            "{protection}: he {what}: {at}"
                        );
                    }
                    Error::PeerLost { .. } if cuts => {}
                    _ => panic!("{protection}: he {what}: {error}"),
                }
                assert!(sent.is_err(), "{protection}: he {what}");
                assert!(taken == bytes_at(0, taken.len()), "{protection}: he {what}");
            }
        }
    });
}

fn changing(unit: usize, at: usize) -> Box<dyn FnOnce(Units) -> Units + Send> {
    moving(move |units| units[unit][at] ^= 0x10)
}

fn moving(change: impl FnOnce(&mut Units) + Send + 'static) -> Box<dyn FnOnce(Units) -> Units + Send> {
    Box::new(move |mut units| {
        change(&mut units);
        units
    })
}

#[test]
fn answers_that_were_changed_or_come_from_the_sender_itself_are_refused() {
    watched(|| {
        for protection in SEALED {
            let mut middle = Middle::with(|units| units);
            middle.answer = |answer| answer[20] ^= 1;
            let (sent, _received, _taken) = attacked(protection, middle);
            assert!(matches!(sent, Err(Error::Tampered { .. })), "{protection}: {sent:?}");
            let mut middle = Middle::with(|units| units);
            middle.reflects = true;
            let (sent, _received, _taken) = attacked(protection, middle);
            assert!(matches!(sent, Err(Error::Tampered { .. })), "{protection}: {sent:?}");
        }
    });
}

#[test]
fn what_the_ends_say_of_themselves_cannot_be_changed_either() {
    fn again(hello: &mut [u8]) {
        if let Some((text, checksum)) = hello.split_last_chunk_mut::<8>() {
            *checksum = xxh3_64(text).to_le_bytes();
        }
    }
    watched(|| {
        for protection in SEALED {
            let mut middle = Middle::with(|units| units);
            // A length that the sender did not send.
            middle.hellos = |said, heard| {
                if said.len() == HELLO {
                    said[40..48].copy_from_slice(&(BLOCK as u64).to_le_bytes());
                    again(said);
                }
                let _unchanged = heard;
            };
            let (sent, received, taken) = attacked(protection, middle);
            assert!(matches!(received, Err(Error::Tampered { .. })), "{protection}: {received:?}");
            assert!(sent.is_err() && taken.is_empty());
            // A lower level, for both.
            let mut middle = Middle::with(|units| units);
            middle.hellos = |said, heard| {
                for hello in [said, heard] {
                    if hello.len() == HELLO {
                        hello[80] = 0;
                        again(hello);
                    }
                }
            };
            let (sent, received, taken) = attacked(protection, middle);
            let lower = Error::Protection { ours: protection, theirs: Protection::Checked };
            assert_eq!((sent, received), (Err(lower.clone()), Err(lower)));
            assert!(taken.is_empty());
        }
    });
}

#[test]
fn what_is_encrypted_shows_nothing_and_what_is_authenticated_can_be_read() {
    watched(|| {
        let part = bytes_at(BLOCK as u64 + 300, 40);
        for (protection, readable) in [(Protection::Authenticated, true), (Protection::Encrypted, false)] {
            let wire = recorded(protection).concat();
            let found = wire.windows(part.len()).any(|window| window == part);
            assert_eq!(found, readable, "{protection}");
            // No frame is readable in the same form twice: the same stream again consists of other bytes.
            assert_ne!(recorded(protection).concat(), wire);
        }
    });
}

#[test]
fn ends_of_different_levels_do_not_come_together_and_both_hear_of_both() {
    watched(|| {
        for route in [Route::Auto, Route::Tcp] {
            let with =
                move |protection| Options::from(small()).key(key()).route(route).protection(protection);
            let listener = Receiver::bind("127.0.0.1:0", with(Protection::Checked)).unwrap();
            let address = listener.local_addr().unwrap();
            let sending =
                thread::spawn(move || Sender::connect(address, 10, with(Protection::Encrypted)).map(drop));
            let error = listener.accept().map(drop).unwrap_err();
            let (ours, theirs) = (Protection::Checked, Protection::Encrypted);
            assert_eq!(error, Error::Protection { ours, theirs });
            let text = error.to_string();
            assert!(text.contains("checked") && text.contains("encrypted"), "{text}");
            assert_eq!(sending.join().unwrap(), Err(Error::Protection { ours: theirs, theirs: ours }));
        }
    });
}

#[test]
fn what_is_sealed_does_not_go_by_rdma_and_an_end_that_may_use_nothing_else_says_so() {
    let prepare = |child: &mut std::process::Command| _ = child.env("GOSSAMER_FABRIC", "verbs");
    let ended = in_child(prepare, || {
        for protection in SEALED {
            let options = Options::from(small()).key(key()).protection(protection);
            let error = Receiver::bind("127.0.0.1:0", options).err().unwrap().to_string();
            assert!(error.contains("does not go by RDMA") && error.contains("GOSSAMER_FABRIC"), "{error}");
        }
    });
    assert!(ended.status.success(), "{}", ended.errors);
}
