//! TLS by [`rustls`], with the feature `tls`: [`TlsAcceptor`] and [`TlsConnector`] make a [`TlsStream`] of a connection.
//!
//! A [`TlsStream`] implements `Read`, `BufRead` and `Write` over any stream that does, such as a
//! [`TcpStream`](crate::net::TcpStream), whose calls suspend the fiber as usual; the time limits of the underlying
//! stream apply. Certificates, ALPN, resumption and versions are set in the configuration of rustls; the cryptography
//! is that of aws-lc, which nodes also use. Servers with rustls's defaults resume sessions, in TLS 1.3 by tickets, in
//! 1.2 by session identifiers; so do connectors that share a configuration.
//!
//! ```
//! use gossamer::net::tls::{TlsAcceptor, rustls};
//! use rustls::pki_types::pem::PemObject;
//! use rustls::pki_types::{CertificateDer, PrivateKeyDer};
//! use std::{error::Error, path::Path, sync::Arc};
//!
//! fn acceptor(certificates: &Path, key: &Path) -> Result<TlsAcceptor, Box<dyn Error>> {
//!     let certificates = CertificateDer::pem_file_iter(certificates)?.collect::<Result<Vec<_>, _>>()?;
//!     let mut config = rustls::ServerConfig::builder()
//!         .with_no_client_auth()
//!         .with_single_cert(certificates, PrivateKeyDer::from_pem_file(key)?)?;
//!     config.alpn_protocols = vec![b"http/1.1".to_vec()];
//!     Ok(TlsAcceptor::new(Arc::new(config)))
//! }
//! # assert!(acceptor(Path::new("/nowhere"), Path::new("/nowhere")).is_err());
//! ```
//!
//! # Cost
//! A handshake is computed in its fiber, and its worker serves nobody else meanwhile; resuming a session takes less
//! computation.

/// What examples begin with: `client_config` and `server_config`.
macro_rules! configured {
    () => {
        "# use gossamer::net::UnixStream;\n\
        # use gossamer::net::tls::{TlsAcceptor, TlsConnector, rustls};\n\
        # use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};\n\
        # use std::sync::Arc;\n\
        # let certificate = CertificateDer::from_pem_file(\"src/net/tls/example.pem\").expect(\"one\");\n\
        # let key = PrivateKeyDer::from_pem_file(\"src/net/tls/example.pem\").expect(\"its key\");\n\
        # let mut roots = rustls::RootCertStore::empty();\n\
        # roots.add(certificate.clone()).expect(\"its own authority\");\n\
        # let config = rustls::ServerConfig::builder().with_no_client_auth();\n\
        # let mut server_config = config.with_single_cert(vec![certificate], key).expect(\"a pair\");\n\
        # let config = rustls::ClientConfig::builder().with_root_certificates(roots);\n\
        # let mut client_config = config.with_no_client_auth();\n\
        # server_config.alpn_protocols = vec![b\"h2\".to_vec()];\n\
        # client_config.alpn_protocols = vec![b\"h2\".to_vec()];"
    };
}

/// What examples continue with: `client` and `server`, the ends of a connection.
macro_rules! connected {
    () => {
        "# let (near, far) = UnixStream::pair()?;\n\
        # let acceptor = TlsAcceptor::new(Arc::new(server_config));\n\
        # let connector = TlsConnector::new(Arc::new(client_config));\n\
        # let (client, server) = gossamer::scope(|s| {\n\
        #     let server = s.spawn(|| acceptor.accept(far));\n\
        #     (connector.connect(\"localhost\", near), server.join())\n\
        # });\n\
        # let (mut client, mut server) = (client?, server?);"
    };
}

mod handshake;
mod stream;

pub use handshake::{TlsAcceptor, TlsConnector};
pub use rustls;
pub use stream::TlsStream;
