//! tarpc with bincode, over one connection.

use super::{call, run, socket};
use crate::contenders::sockets::between;
use crate::measure::{Sample, Setting};
use ::tarpc::server::{BaseChannel, Channel as _};
use ::tarpc::tokio_serde::formats::Bincode;
use ::tarpc::tokio_util::codec::LengthDelimitedCodec;
use ::tarpc::{client, context, serde_transport, server};
use futures::StreamExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests there is room for at either end.
const ROOM: usize = 4096;

#[::tarpc::service]
trait Adding {
    /// Adds to the object, and says what was there.
    async fn add(amounts: [u64; 4]) -> u64;
}

#[derive(Clone)]
struct Object(Arc<AtomicU64>);

impl Adding for Object {
    async fn add(self, _: context::Context, amounts: [u64; 4]) -> u64 {
        self.0.fetch_add(amounts[0], Ordering::Relaxed)
    }
}

/// Requests of 32 bytes, whatever the setting says.
pub fn tarpc(setting: &Setting) -> Sample {
    between(
        setting,
        |setting, connection| {
            run(async {
                let frames = LengthDelimitedCodec::builder().new_framed(socket(connection)?);
                let mut config = client::Config::default();
                (config.max_in_flight_requests, config.pending_request_buffer) = (ROOM, ROOM);
                let transport = serde_transport::new(frames, Bincode::default());
                let client = AddingClient::new(config, transport).spawn();
                let once = |client: AddingClient| async move { client.add(context::current(), [1; 4]).await };
                call(setting.parallel, client, once).await;
                Ok(())
            });
        },
        |_, connection| {
            run(async {
                let frames = LengthDelimitedCodec::builder().new_framed(socket(connection)?);
                let transport = serde_transport::new(frames, Bincode::default());
                let config = server::Config { pending_response_buffer: ROOM };
                let requests = BaseChannel::new(config, transport).execute(Object(Arc::default()).serve());
                requests.for_each(|request| async { drop(tokio::spawn(request)) }).await;
                Ok(())
            });
        },
    )
}
