//! A listener, and a task for each connection.

use super::{BUFFER, answer, asked, tell, wait_for_end};
use crate::measure::{Sample, Setting};
use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::{TcpListener, TcpStream};
use ::tokio::runtime::Builder;

/// Tasks.
pub fn tokio(setting: &Setting) -> Sample {
    asked(setting, |setting, report| {
        let runtime = Builder::new_multi_thread().worker_threads(setting.workers).enable_io().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap_or_else(|error| panic!("no listener: {error}"));
        match listener.local_addr() {
            Ok(address) => tell(&report, address),
            Err(error) => panic!("no address: {error}"),
        }
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                ::tokio::spawn(serve(stream));
            }
        });
        wait_for_end(&report);
    })
}

async fn serve(mut stream: TcpStream) {
    let (mut input, mut output, mut buffer) = (Vec::new(), Vec::new(), vec![0; BUFFER]);
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        input.extend_from_slice(&buffer[..length]);
        answer(&mut input, &mut output);
        if stream.write_all(&output).await.is_err() {
            return;
        }
        output.clear();
    }
}
