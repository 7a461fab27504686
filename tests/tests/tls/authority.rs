//! A certificate authority in a directory of its own, made by the program openssl.

use gossamer::net::tls::rustls::pki_types::pem::PemObject;
use gossamer::net::tls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use gossamer::net::tls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The protocol that both ends offer.
pub const PROTOCOL: &str = "shout/1";

/// An authority's certificate (`ca.pem`) and, issued by it, one for `localhost` (`cert.pem`, `key.pem`), in a directory
/// that is removed with this value.
pub struct Authority(PathBuf);

impl Authority {
    /// None, and a message that says so, where openssl is not installed.
    pub fn new() -> Option<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if let Err(error) = Command::new("openssl").arg("version").output() {
            println!("!!! skipped: openssl: {error}");
            return None;
        }
        let name = format!("gossamer-tls-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let authority = Self(std::env::temp_dir().join(name));
        std::fs::create_dir(&authority.0).unwrap();
        std::fs::write(authority.0.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        authority.openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
        authority.openssl(&format!("req -new {key} -keyout key.pem -out request -subj /CN=localhost"));
        authority.openssl(
            "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out cert.pem",
        );
        Some(authority)
    }

    /// A call of openssl in the directory.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(&self.0);
        command
    }

    fn openssl(&self, arguments: &str) {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn server(&self) -> ServerConfig {
        let certificate = CertificateDer::from_pem_file(self.0.join("cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.0.join("key.pem")).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let mut config = config.with_single_cert(vec![certificate], key).unwrap();
        config.alpn_protocols = vec![PROTOCOL.into()];
        config
    }

    pub fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.0.join("ca.pem")).unwrap()).unwrap();
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.into()];
        config
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
