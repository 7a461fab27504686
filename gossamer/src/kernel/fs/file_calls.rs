//! The calls of a [`File`] that need no position: metadata, length, reads and writes at an offset, the way to the disk.

use crate::kernel::fs::File;
use crate::kernel::fs::file::LARGEST;
use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::FileExt;

impl File {
    /// Its metadata.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-metadata-{}", std::process::id()));
    /// gossamer::fs::write(&path, "hello")?;
    /// let metadata = File::open(&path)?.metadata()?;
    /// assert!(metadata.is_file() && metadata.len() == 5);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.call("File::metadata", |file| file.metadata())
    }

    /// Sets its permissions.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-permissions-{}", std::process::id()));
    /// use std::{fs::Permissions, os::unix::fs::PermissionsExt};
    /// let file = File::create(&path)?;
    /// file.set_permissions(Permissions::from_mode(0o600))?; // before anything secret is in it
    /// assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.call("File::set_permissions", move |file| file.set_permissions(permissions))
    }

    /// Sets its length: truncates it, or extends it with zeros.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-set-len-{}", std::process::id()));
    /// let mut file = File::create(&path)?;
    /// file.set_len(4096)?; // zeros, which take no space
    /// assert_eq!(file.metadata()?.len(), 4096);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.go_back("File::set_len")?;
        self.call("File::set_len", move |file| file.set_len(length))
    }

    /// Waits until written data and metadata are on the disk.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-sync-{}", std::process::id()));
    /// use std::io::Write;
    /// let mut file = File::create(&path)?;
    /// file.write_all(b"hello")?;
    /// file.flush()?;
    /// file.sync_all()?; // on the disk now
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn sync_all(&self) -> io::Result<()> {
        self.call("File::sync_all", |file| file.sync_all())
    }

    /// Waits until written data is on the disk.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-sync-data-{}", std::process::id()));
    /// use std::io::Write;
    /// let mut log = File::options().append(true).create(true).open(&path)?;
    /// log.write_all(b"paid\n")?;
    /// log.sync_data()?; // it survives a loss of power from here on
    /// assert_eq!(log.metadata()?.len(), 5);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn sync_data(&self) -> io::Result<()> {
        self.call("File::sync_data", |file| file.sync_data())
    }

    /// Reads up to 1 MiB at an offset of the file, independently of its position; returns the number of bytes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-read-at-{}", std::process::id()));
    /// gossamer::fs::write(&path, "hello, world")?;
    /// let mut buffer = [0; 5];
    /// assert_eq!(File::open(&path)?.read_at(&mut buffer, 7)?, 5);
    /// assert_eq!(&buffer, b"world");
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut bytes = vec![0; buffer.len().min(LARGEST)];
        let bytes = self.call("File::read_at", move |file| {
            let length = file.read_at(&mut bytes, offset)?;
            bytes.truncate(length);
            Ok(bytes)
        })?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Writes up to 1 MiB at an offset of the file, independently of its position; returns the number of bytes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-write-at-{}", std::process::id()));
    /// let file = File::options().write(true).create(true).open(&path)?;
    /// file.write_at(b"world", 7)?; // zeros before it
    /// assert_eq!(file.metadata()?.len(), 12);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let bytes = bytes[..bytes.len().min(LARGEST)].to_owned();
        self.call("File::write_at", move |file| file.write_at(&bytes, offset))
    }
}
