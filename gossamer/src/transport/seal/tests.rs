//! Attacks on records: anything but the next record of the other end is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::transport::seal::agreement::{Agreement, ConnectionSide, Ephemeral};
use crate::transport::seal::protection::Protection;
use crate::transport::seal::record::{LONGEST, Opener, RECORDS_PER_KEY, SealError, Sealer, TAG};

const LEVELS: [Protection; 2] = [Protection::Authenticated, Protection::Encrypted];

/// Both ends of a new connection.
fn agreements() -> [Agreement; 2] {
    let (one, other) = (Ephemeral::new().unwrap(), Ephemeral::new().unwrap());
    let (near, far) = (one.public(), other.public());
    [
        Agreement::new([7; 32], one, far, ConnectionSide::Connects),
        Agreement::new([7; 32], other, near, ConnectionSide::Accepts),
    ]
}

type Channel = (Sealer, Opener);

fn channel(agreement: &Agreement, level: Protection, purpose: &str, binding: &[u8]) -> Channel {
    agreement.channel(level, purpose, binding).unwrap().unwrap()
}

fn connection(level: Protection) -> [Channel; 2] {
    agreements().map(|agreement| channel(&agreement, level, "test", b"said"))
}

fn sealed(sealer: &mut Sealer, clear: usize, text: &[u8]) -> Vec<u8> {
    let mut record = [text, &[0; TAG]].concat();
    sealer.seal(clear, &mut record).unwrap();
    record
}

fn opened(opener: &mut Opener, clear: usize, record: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut record = record.to_vec();
    opener.open(clear, &mut record).map(|text| text.to_vec())
}

#[test]
fn records_open_in_their_order_in_both_directions() {
    for level in LEVELS {
        let [(mut to_far, mut from_far), (mut to_near, mut from_near)] = connection(level);
        for text in [&b"length, then more"[..], b"", &[9; 5000], b"the end"] {
            for clear in [0, text.len().min(6)] {
                let record = sealed(&mut to_far, clear, text);
                let readable = record.len() == text.len() + TAG && record.starts_with(text);
                assert_eq!(readable, level == Protection::Authenticated || clear == text.len());
                assert!(record.starts_with(&text[..clear]));
                assert_eq!(opened(&mut from_near, clear, &record).unwrap(), text);
            }
            let mut copy = vec![0; text.len()];
            let tag = to_near.seal_copy(text, &mut copy).unwrap();
            assert_eq!(copy == text, level == Protection::Authenticated || text.is_empty());
            from_far.open_apart(&mut copy, &tag).unwrap();
            assert_eq!(copy, text);
        }
    }
}

#[test]
fn a_record_of_which_any_bit_or_its_length_was_changed_is_refused() {
    for level in LEVELS {
        for clear in [0, 4] {
            let text = b"a record with some bytes";
            for at in 0..(text.len() + TAG) * 8 {
                let [(mut sealer, _), (_, mut opener)] = connection(level);
                let mut record = sealed(&mut sealer, clear, text);
                record[at / 8] ^= 1 << (at % 8);
                assert_eq!(opened(&mut opener, clear, &record), Err(SealError::Forged), "{level} {at}");
            }
            for length in 0..text.len() + TAG {
                let [(mut sealer, _), (_, mut opener)] = connection(level);
                let record = sealed(&mut sealer, clear, text);
                assert_eq!(opened(&mut opener, clear, &record[..length]), Err(SealError::Forged));
            }
            let [(mut sealer, _), (_, mut opener)] = connection(level);
            let longer = [sealed(&mut sealer, clear, text), vec![0]].concat();
            assert_eq!(opened(&mut opener, clear, &longer), Err(SealError::Forged));
        }
    }
}

#[test]
fn repeated_reordered_and_left_out_records_are_refused() {
    for level in LEVELS {
        for order in [&[0, 0][..], &[1], &[0, 2], &[1, 0]] {
            let [(mut sealer, _), (_, mut opener)] = connection(level);
            let records = [0, 1, 2].map(|number| sealed(&mut sealer, 0, &[number; 40]));
            let mut opens = order.iter().map(|number| opened(&mut opener, 0, &records[*number]).is_ok());
            assert!(!opens.by_ref().all(|is_open| is_open), "{level} {order:?}");
            assert!(opens.all(|is_open| !is_open));
        }
    }
}

#[test]
fn after_a_refusal_nothing_opens() {
    for level in LEVELS {
        let [(mut sealer, _), (_, mut opener)] = connection(level);
        let good = sealed(&mut sealer, 0, b"good");
        assert!(opened(&mut opener, 0, &[0; 20]).is_err());
        assert!(opened(&mut opener, 0, &good).is_err());
    }
}

#[test]
fn a_record_that_is_sent_back_to_its_sender_is_refused() {
    for level in LEVELS {
        let [(mut sealer, mut opener), _] = connection(level);
        let record = sealed(&mut sealer, 0, b"mine");
        assert_eq!(opened(&mut opener, 0, &record), Err(SealError::Forged));
    }
}

#[test]
fn a_record_of_another_connection_is_refused_though_the_token_is_the_same() {
    for level in LEVELS {
        let [[(mut sealer, _), _], [_, (_, mut opener)]] = [connection(level), connection(level)];
        let record = sealed(&mut sealer, 0, b"elsewhere");
        assert_eq!(opened(&mut opener, 0, &record), Err(SealError::Forged));
    }
}

#[test]
fn nothing_opens_if_the_ends_are_of_different_minds() {
    let other = Protection::Authenticated;
    for (level, purpose, binding) in [
        (Protection::Encrypted, "test", &b"changed"[..]),
        (Protection::Encrypted, "others", b"said"),
        (Protection::Encrypted, "test", b""),
        (Protection::Encrypted, "tests", b"aid"),
        (other, "test", b"said"),
    ] {
        let [near, far] = agreements();
        let (mut sealer, _) = channel(&near, Protection::Encrypted, "test", b"said");
        let (_, mut opener) = channel(&far, level, purpose, binding);
        let record = sealed(&mut sealer, 0, b"text");
        assert_eq!(opened(&mut opener, 0, &record), Err(SealError::Forged), "{level} {purpose}");
    }
}

#[test]
fn ends_with_different_tokens_or_a_changed_nonce_have_different_keys() {
    let (one, other) = (Ephemeral::new().unwrap(), Ephemeral::new().unwrap());
    let (near, far) = (one.public(), other.public());
    let near_end = Agreement::new([7; 32], one, far, ConnectionSide::Connects);
    let far_end = Agreement::new([8; 32], other, near, ConnectionSide::Accepts);
    let (mut sealer, _) = channel(&near_end, Protection::Encrypted, "test", b"");
    let (_, mut opener) = channel(&far_end, Protection::Encrypted, "test", b"");
    assert!(opened(&mut opener, 0, &sealed(&mut sealer, 0, b"text")).is_err());
    // A point of low order, with which all secrets would be the same.
    let weak = Agreement::new([7; 32], Ephemeral::new().unwrap(), [0; 32], ConnectionSide::Connects);
    assert!(weak.channel(Protection::Encrypted, "test", b"").is_err());
}

#[test]
fn a_key_is_followed_by_another_one_and_the_counter_never_wraps() {
    for level in LEVELS {
        let [(mut sealer, _), (_, mut opener)] = connection(level);
        sealer.skip_to(RECORDS_PER_KEY - 1);
        opener.skip_to(RECORDS_PER_KEY - 1);
        for number in 0..3 {
            let record = sealed(&mut sealer, 0, &[number; 8]);
            assert_eq!(opened(&mut opener, 0, &record).unwrap(), [number; 8]);
        }
        sealer.skip_to(u64::MAX - 1);
        assert!(sealer.seal(0, &mut [0; TAG]).is_ok());
        for _ in 0..2 {
            assert_eq!(sealer.seal(0, &mut [0; TAG]), Err(SealError::Exhausted));
        }
        opener.skip_to(u64::MAX);
        assert!(opened(&mut opener, 0, &[0; TAG]).is_err());
    }
}

#[test]
fn the_same_text_is_never_the_same_record() {
    let [(mut sealer, _), (mut back, _)] = connection(Protection::Encrypted);
    let records = [&mut sealer, &mut back].map(|sealer| [0, 1].map(|_| sealed(sealer, 0, &[0; 32])));
    let mut all: Vec<_> = records.as_flattened().to_vec();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

#[test]
fn bytes_that_are_only_authenticated_need_no_copy_and_secret_ones_are_never_left_readable() {
    let [(mut sealer, _), (_, mut opener)] = connection(Protection::Authenticated);
    let tag = sealer.tag_of(b"in a slot").unwrap();
    assert!(opener.open_apart(&mut b"in a slot".to_vec(), &tag).is_ok());
    let tag = sealer.tag_of(b"in a slot").unwrap();
    assert_eq!(opener.open_apart(&mut b"in a slat".to_vec(), &tag), Err(SealError::Forged));
    let [(mut sealer, _), (_, mut opener)] = connection(Protection::Encrypted);
    assert!(sealer.tag_of(b"secret").is_err());
    assert!(sealer.seal_copy(b"secret", &mut [0; 5]).is_err());
    assert_eq!(opener.open_apart(&mut b"secret".to_vec(), &[0; TAG]), Err(SealError::Forged));
    assert!(sealer.seal(0, &mut vec![0; LONGEST + TAG + 1]).is_err());
    assert!(sealer.seal(9, &mut [0; TAG + 8]).is_err());
    assert!(sealer.seal(0, &mut [0; TAG - 1]).is_err());
}

#[test]
fn what_is_only_checked_is_not_sealed() {
    let [near, _] = agreements();
    assert!(near.channel(Protection::Checked, "test", b"").unwrap().is_none());
}
