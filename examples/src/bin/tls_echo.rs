//! An echo server with TLS: a client gets back what it sends, and nobody on the way can read it. SIGTERM or Ctrl-C ends
//! it.
//!
//! `cargo run --release -p examples --features tls --bin tls_echo -- 127.0.0.1:7879 certificates.pem key.pem`, then for example
//! `openssl s_client -connect 127.0.0.1:7879`.

use gossamer::net::tls::rustls::ServerConfig;
use gossamer::net::tls::rustls::pki_types::pem::PemObject;
use gossamer::net::tls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use gossamer::net::tls::{TlsAcceptor, TlsStream};
use gossamer::net::{TcpListener, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

/// How long a client may take for the handshake before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

#[gossamer::main]
fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [address, certificates, key] = arguments.as_slice() else {
        return Err("usage: tls_echo ADDRESS CERTIFICATES KEY".into());
    };
    let certificates = CertificateDer::pem_file_iter(certificates)?.collect::<Result<_, _>>()?;
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(certificates, PrivateKeyDer::from_pem_file(key)?)?;
    config.alpn_protocols = vec![b"echo".to_vec()];
    let acceptor = TlsAcceptor::new(Arc::new(config));
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let connection = gossamer::select! {
            connection = listener.accept_async() => connection,
            signal = ending.recv_async() => {
                println!("ended by {}", signal?);
                return Ok(());
            }
        };
        let ((stream, peer), acceptor) = (connection?, acceptor.clone());
        drop(gossamer::spawn(move || {
            if let Err(error) = begin(&acceptor, stream).and_then(echo) {
                eprintln!("{peer}: {error}");
            }
        }));
    }
}

fn begin(acceptor: &TlsAcceptor, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let stream = acceptor.accept(stream)?;
    stream.get_ref().set_read_timeout(None)?;
    Ok(stream)
}

fn echo(mut stream: TlsStream<TcpStream>) -> io::Result<()> {
    loop {
        let bytes = stream.fill_buf()?.to_vec();
        if bytes.is_empty() {
            return stream.shutdown();
        }
        stream.write_all(&bytes)?;
        stream.consume(bytes.len());
    }
}
