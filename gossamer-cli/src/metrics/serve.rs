//! The address at which the metrics of all nodes are read. A client that does not read, or sends garbage, keeps its
//! place for some seconds, or until another client needs it.

use crate::metrics::gather::{Gatherer, OPEN};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Connections at a time. If there are more, the oldest is closed.
const MOST: usize = 64;
/// How long a connection may last altogether.
const PATIENCE: Duration = Duration::from_secs(10);
/// When to try again, if no connection could be accepted.
const AGAIN: Duration = Duration::from_millis(100);
/// The longest request, in bytes.
const MOST_ASKED: u64 = 8 * 1024;

const HEADER_END: &[u8] = b"\r\n\r\n";

/// Serves the metrics of nodes, until the task is aborted.
pub async fn serve(listener: TcpListener, nodes: Arc<Gatherer>) {
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
        let nodes = Arc::clone(&nodes);
        connections.push_back(tokio::spawn(async move {
            // A client that has gone, or came too late, gets no answer.
            let _ = timeout(PATIENCE, answer(stream, &nodes)).await;
        }));
    }
}

async fn answer(mut stream: TcpStream, nodes: &Gatherer) -> io::Result<()> {
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
        Some("/metrics") => response("200 OK", kind, &nodes.text(is_open).await),
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
