//! What a node writes, read as fast as the launcher takes it, and its report.

use crate::node::ending::MOST_WORDS;
use crate::node::message::{CHUNK, Event, cost};
use crate::node::window::Window;
use crate::terminal::stream::Stream;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long the pipes of an ended node may stay silent until they count as closed: a process that the node started may
/// have left its group and still hold them.
const SILENCE: Duration = Duration::from_secs(1);
/// The most that a pipe of an ended node can still contain, unless root has made it larger; whatever comes after that
/// is from another process that holds the pipe.
const REST: usize = 1 << 20;
/// How long the report pipe of an ended node is read.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Reads from a pipe of a node: 0 at its end.
async fn read(pipe: &mut Receiver, buffer: &mut [u8], ended: &mut watch::Receiver<bool>) -> usize {
    if !*ended.borrow() {
        tokio::select! {
            biased;
            read = pipe.read(buffer) => return read.unwrap_or(0),
            _ = ended.wait_for(|ended| *ended) => {}
        }
    }
    timeout(SILENCE, pipe.read(buffer)).await.map_or(0, |read| read.unwrap_or(0))
}

/// Passes on what a node writes, as fast as the launcher prints it.
pub async fn forward(
    mut pipe: Receiver,
    node: u32,
    stream: Stream,
    mut ended: watch::Receiver<bool>,
    window: &Window,
    events: &UnboundedSender<Event>,
) {
    let (mut buffer, mut rest) = (vec![0; CHUNK], REST);
    loop {
        let length = read(&mut pipe, &mut buffer, &mut ended).await;
        if *ended.borrow() {
            let Some(less) = rest.checked_sub(length) else { return };
            rest = less;
        }
        let Some(bytes @ [_, ..]) = buffer.get(..length) else { return };
        window.take(cost(bytes)).await;
        if events.send(Event::Output { node, stream, bytes: bytes.to_vec() }).is_err() {
            return;
        }
    }
}

/// What a node writes to its report pipe until it ends. Text beyond the limit is read and dropped, so that the node
/// does not block.
pub async fn last_words(mut pipe: Receiver, mut ended: watch::Receiver<bool>) -> Vec<u8> {
    let (mut written, mut buffer) = (Vec::new(), vec![0; MOST_WORDS]);
    let reading = async {
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            let bytes = buffer.get(..length).unwrap_or_default();
            let room = MOST_WORDS.saturating_sub(written.len());
            written.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    };
    let waiting = async {
        let _ = ended.wait_for(|ended| *ended).await;
        sleep(LAST_WORDS).await;
    };
    tokio::select! {
        biased;
        () = reading => {}
        () = waiting => {}
    }
    written
}
