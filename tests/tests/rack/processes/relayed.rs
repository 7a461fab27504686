//! Nodes whose connections pass through a relay that may change anything. Needs root, since a name has to mean another
//! address for one node than for the other.

use super::{Ended, Nodes, node, token, wait};
use crate::PROGRAM;
use integration_tests::{free_ports, watched};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The name of the host of node 0.
const HOST: &str = "gossamer-node-0";
/// The address of node 0, and the one where the relay pretends to be node 0.
const HERE: &str = "127.0.0.1";
const BETWEEN: &str = "127.0.0.3";

/// One direction of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Whether it joins workers; the other kind is the control connection.
    pub(super) lanes: bool,
    /// Whether it goes from node 1, which connects, to node 0.
    pub(super) up: bool,
}

/// What happens to the bytes that come on a way.
pub(super) type Carry = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// A file that exists as long as this value.
struct Hosts(PathBuf);

impl Hosts {
    fn new(address: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gossamer-hosts-{}-{number}", std::process::id()));
        std::fs::write(&path, format!("127.0.0.1 localhost\n{address} {HOST}\n")).unwrap();
        Self(path)
    }

    /// A node for which the host name of node 0 means this address.
    fn start(
        &self,
        what: &str,
        number: usize,
        addresses: &str,
        token: &str,
        variables: &[(&str, &str)],
    ) -> Child {
        let plain = node(PROGRAM, what, number, addresses, token);
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]);
        command.arg(&self.0).args([PROGRAM, what]);
        let set = plain.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        // What is changed on the way may keep nodes from starting, which they wait for.
        command.envs(set).env("GOSSAMER_START_SECONDS", "20");
        command.env("GOSSAMER_THREADS", "1").envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// Whether a name can be made to mean another address.
pub(super) fn can_rename() -> bool {
    let probe = Command::new("unshare").args(["--mount", "true"]).output();
    let can = probe.is_ok_and(|probe| probe.status.success());
    if !can {
        eprintln!("not tested: needs root and `unshare`");
    }
    can
}

/// The ports at which a process listens.
pub(super) fn ports(process: u32) -> HashSet<u16> {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return HashSet::new() };
    let links = descriptors.flatten().filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    let sockets: HashSet<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listening = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_its_own =
            *columns.get(3)? == "0A" && sockets.contains(&format!("socket:[{}]", columns.get(9)?));
        u16::from_str_radix(columns[1].rsplit_once(':')?.1, 16).ok().filter(|_| is_its_own)
    });
    listening.collect()
}

/// Carries what arrives at a port to node 0, and the answers back, until it is dropped: another run may then have this
/// port.
struct Relay {
    ends: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Relay {
    fn new(port: u16, lanes: bool, change: Arc<dyn Fn(Way) -> Carry + Send + Sync>) -> Self {
        let listener = TcpListener::bind((BETWEEN, port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&ends);
        let accepts = std::thread::spawn(move || {
            while !has_ended.load(Ordering::Relaxed) {
                let Ok((near, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                };
                near.set_nonblocking(false).unwrap();
                let Ok(far) = TcpStream::connect((HERE, port)) else { continue };
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                for (from, to, up) in [(near, far, true), (far_too, near_too, false)] {
                    let mut carry = change(Way { lanes, up });
                    std::thread::spawn(move || pass(from, to, &mut carry));
                }
            }
        });
        Self { ends, accepts: Some(accepts) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.accepts.take().map(JoinHandle::join);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, carry: &mut Carry) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&carry(&bytes[..count])).is_err() {
            break;
        }
    }
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Two nodes, and somebody who changes what they say to each other.
pub(super) fn relayed(
    what: &str,
    variables: &[(&str, &str)],
    change: impl Fn(Way) -> Carry + Send + Sync + 'static,
) -> Vec<Ended> {
    let (token, change) = (token(), Arc::new(change));
    let door = free_ports(HERE.parse::<IpAddr>().unwrap(), 1);
    let addresses = format!("{HOST}:{door},{HERE}:1");
    let (own, other) = (Hosts::new(HERE), Hosts::new(BETWEEN));
    let mut nodes = Nodes(vec![own.start(what, 0, &addresses, &token, variables)]);
    let due = Instant::now() + Duration::from_secs(20);
    let open = loop {
        let open = ports(nodes.0[0].id());
        if open.contains(&door) && open.len() == 2 || Instant::now() > due {
            break open;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let relay = |port| Relay::new(port, port != door, Arc::<_>::clone(&change) as Arc<_>);
    let _relays: Vec<Relay> = open.into_iter().map(relay).collect();
    nodes.0.push(other.start(what, 1, &addresses, &token, variables));
    wait(&mut nodes)
}

pub(super) fn all_errors(ended: &[Ended]) -> String {
    ended.iter().map(|node| node.errors.as_str()).collect()
}

/// Changes a run of bytes at a place of a way, and reports that it did.
fn changing(way: Way, place: usize, seed: u64) -> (impl Fn(Way) -> Carry, Arc<Mutex<bool>>) {
    let changed = Arc::new(Mutex::new(false));
    let done = Arc::clone(&changed);
    let change = move |on: Way| -> Carry {
        let (mut passed, done) = (0, Arc::clone(&done));
        Box::new(move |bytes| {
            let mut bytes = bytes.to_vec();
            if on == way && (passed..passed + bytes.len()).contains(&place) {
                let at = place - passed;
                let end = bytes.len().min(at + 1 + seed as usize % 40);
                bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 << (seed % 8));
                *done.lock().unwrap() = true;
            }
            passed += bytes.len();
            bytes
        })
    };
    (change, changed)
}

#[test]
fn a_run_of_bytes_that_was_changed_on_the_way_is_never_a_result() {
    if !can_rename() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(13);
    for run in 0..20 {
        let way = Way { lanes: run % 4 != 3, up: random.bool() };
        let place = if way.lanes { random.usize(200..40_000) } else { random.usize(90..900) };
        let seed = random.u64(..);
        watched(move || {
            let (change, changed) = changing(way, place, seed);
            let ended = relayed("requests", &[("REQUESTS", "2000")], change);
            let errors = all_errors(&ended);
            if *changed.lock().unwrap() {
                // The last message of node 0 on the control connection is sent once node 0 has its result.
                let fails = ended.iter().filter(|node| !node.status.success()).count();
                assert!(fails == 2 || fails == 1 && !way.lanes, "{way:?}, {place}: {errors}");
                assert!(errors.contains("CRC32C"), "{way:?}, {place}: {errors}");
            } else {
                assert_eq!(ended[0].output, "1999000\n", "{way:?}: {errors}");
            }
            assert!(ended[0].output.is_empty() || ended[0].output == "1999000\n", "{}", ended[0].output);
        });
    }
}

/// Records everything that passes.
fn noting() -> (impl Fn(Way) -> Carry, Arc<Mutex<Vec<u8>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&noted);
    let change = move |_: Way| -> Carry {
        let (notes, mut own) = (Arc::clone(&notes), Vec::new());
        Box::new(move |bytes| {
            // Each way is recorded separately.
            own.extend_from_slice(bytes);
            notes.lock().unwrap().extend_from_slice(&own);
            bytes.to_vec()
        })
    };
    (change, noted)
}

#[test]
fn who_listens_reads_what_is_checked_or_authenticated_and_nothing_that_is_encrypted() {
    if !can_rename() {
        return;
    }
    const SAID: &str = "what only the nodes should know";
    for level in ["checked", "authenticated", "encrypted"] {
        watched(move || {
            let (change, noted) = noting();
            let ended = relayed("say", &[("SAID", SAID), ("GOSSAMER_PROTECTION", level)], change);
            assert_eq!(ended[0].output, format!("{}\n", 20 * SAID.len()), "{}", all_errors(&ended));
            let noted = noted.lock().unwrap();
            // The second node's message goes over the control connection.
            for text in [SAID, HOST] {
                let is_there = noted.windows(text.len()).any(|window| window == text.as_bytes());
                assert_eq!(is_there, level != "encrypted", "{text:?}, {level}");
            }
        });
    }
}

/// CRC32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0x82f6_3b78 * (crc & 1)))
    })
}

/// Changes a bit in the body of a record from node 1, and computes the checksum that fits.
fn forging(lanes: bool, record: usize) -> impl Fn(Way) -> Carry {
    /// Bytes of the handshake that the connecting side sends.
    const HANDSHAKE: usize = 88;
    move |way: Way| -> Carry {
        let (mut all, mut passed, mut record) = (Vec::new(), 0, record + 1);
        Box::new(move |bytes| {
            if way != (Way { lanes, up: true }) {
                return bytes.to_vec();
            }
            all.extend_from_slice(bytes);
            // Only whole records, after the handshake.
            let mut end = passed.max(HANDSHAKE);
            while let Some(head) = all.get(end..end + 8) {
                let length = u32::from_le_bytes(head[..4].try_into().unwrap()) as usize;
                let head = u32::from_le_bytes(head[4..].try_into().unwrap());
                let Some(whole) = all.get_mut(end..end + length) else { break };
                record = record.wrapping_sub(1);
                if record == 0 {
                    whole[8] ^= 1;
                    let crc = crc32c(&whole[8..length - 8]) ^ head;
                    whole[length - 8..length - 4].copy_from_slice(&crc.to_le_bytes());
                }
                end += length;
            }
            let ready = if all.len() < HANDSHAKE { all.len() } else { end };
            let carried = all[passed..ready].to_vec();
            passed = ready;
            carried
        })
    }
}

#[test]
fn a_checksum_that_somebody_makes_anew_is_noticed_where_records_are_sealed() {
    if !can_rename() {
        return;
    }
    for (level, lanes, record) in [
        ("authenticated", true, 5),
        ("encrypted", true, 40),
        ("authenticated", false, 0),
        ("encrypted", false, 0),
    ] {
        watched(move || {
            let variables = [("REQUESTS", "2000"), ("GOSSAMER_PROTECTION", level)];
            let ended = relayed("requests", &variables, forging(lanes, record));
            let errors = all_errors(&ended);
            assert!(ended.iter().all(|node| !node.status.success() && node.output.is_empty()), "{errors}");
            assert!(errors.contains(&format!("record {record} on ")), "{level}: {errors}");
            assert!(errors.contains("is not the one that it sealed"), "{level}: {errors}");
        });
    }
}
