//! The address at which the metrics of all nodes are read. Whoever does not read, or sends garbage, has a place for some seconds, or until
//! somebody else needs it.

use crate::metrics::folder::SocketFolder;
use crate::metrics::merge::merged;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Connections at a time. The oldest goes if there are more.
const MOST: usize = 64;
/// For how long one may take altogether.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a node may take. Its thread for metrics answers also while its workers hang.
const NODE_PATIENCE: Duration = Duration::from_secs(2);
/// When to look again, if no connection could be had.
const AGAIN: Duration = Duration::from_millis(100);
/// Bytes of a request, and of the text of a node.
const MOST_ASKED: u64 = 8 * 1024;
const MOST_TOLD: u64 = 64 << 20;

/// What nodes are asked, and by what they are asked for the newer format.
const OPEN: &str = "application/openmetrics-text";
const HEADER_END: &[u8] = b"\r\n\r\n";

/// Serves the nodes whose sockets are in a folder, until this is aborted.
pub async fn serve(listener: TcpListener, folder: Arc<SocketFolder>) {
    let mut connections: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(AGAIN).await;
            continue;
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() >= MOST {
            connections.pop_front().into_iter().for_each(|oldest| oldest.abort());
        }
        let folder = Arc::clone(&folder);
        connections.push_back(tokio::spawn(async move {
            // Who has gone, or came too late, has no answer.
            let _ = timeout(PATIENCE, answer(stream, &folder)).await;
        }));
    }
}

async fn answer(mut stream: TcpStream, folder: &SocketFolder) -> io::Result<()> {
    let mut request = Vec::new();
    let (mut reader, mut writer) = stream.split();
    let mut reader = (&mut reader).take(MOST_ASKED);
    while !request.windows(HEADER_END.len()).any(|some| some == HEADER_END) {
        if reader.read_buf(&mut request).await? == 0 {
            return writer.write_all(&response("400 Bad Request", OPEN, "")).await;
        }
    }
    let request = String::from_utf8_lossy(&request).to_lowercase();
    let is_open = request.contains(OPEN);
    let path = request.strip_prefix("get ").and_then(|rest| rest.split([' ', '?']).next());
    let kind =
        if is_open { "application/openmetrics-text; version=1.0.0" } else { "text/plain; version=0.0.4" };
    let answer = match path {
        Some("/metrics") => response("200 OK", kind, &gather(folder, is_open).await),
        Some(_) => response("404 Not Found", kind, ""),
        None => response("405 Method Not Allowed", kind, ""),
    };
    writer.write_all(&answer).await?;
    writer.shutdown().await
}

fn response(status: &str, kind: &str, text: &str) -> Vec<u8> {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
    .into_bytes()
}

/// The metrics of all nodes that answer.
async fn gather(folder: &SocketFolder, is_open: bool) -> String {
    let mut asked = JoinSet::new();
    for (place, socket) in folder.sockets().into_iter().enumerate() {
        asked.spawn(async move {
            let text = timeout(NODE_PATIENCE, ask(&socket, is_open)).await.ok()?.ok()?;
            Some((place, text))
        });
    }
    // Nodes that have ended meanwhile, or do not answer, have no samples.
    let mut texts: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
    texts.sort_by_key(|(place, _)| *place);
    let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
    let text = merged(&texts);
    if text.is_empty() && is_open { "# EOF\n".to_owned() } else { text }
}

/// The metrics of one node.
async fn ask(socket: &Path, is_open: bool) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket).await?;
    let accept = if is_open { format!("Accept: {OPEN}\r\n") } else { String::new() };
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: node\r\n{accept}\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MOST_TOLD).read_to_string(&mut answer).await?;
    let (header, text) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    if header.starts_with("HTTP/1.1 200") {
        Ok(text.to_owned())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}
