//! tonic: unary calls with Protocol Buffers, over one connection of its own.

use super::{call, run, socket};
use crate::contenders::sockets::between;
use crate::measure::{Sample, Setting};
use ::tonic::body::Body;
use ::tonic::codegen::http::uri::PathAndQuery;
use ::tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use ::tonic::server::{Grpc, NamedService, UnaryService};
use ::tonic::transport::server::TcpIncoming;
use ::tonic::transport::{Channel, Endpoint, Server};
use ::tonic::{Request, Response, Status, client};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Add {
    #[prost(bytes = "vec", tag = "1")]
    amounts: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Before {
    #[prost(fixed64, tag = "1")]
    value: u64,
}

#[derive(Clone)]
struct Object(Arc<AtomicU64>);

impl NamedService for Object {
    const NAME: &'static str = "table.Object";
}

impl Service<http::Request<Body>> for Object {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let object = self.clone();
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(object, request).await) })
    }
}

impl UnaryService<Add> for Object {
    type Response = Before;
    type Future = Ready<Result<Response<Before>, Status>>;

    fn call(&mut self, request: Request<Add>) -> Self::Future {
        let amount = request.get_ref().amounts.first().copied().unwrap_or(0);
        ready(Ok(Response::new(Before { value: self.0.fetch_add(amount.into(), Ordering::Relaxed) })))
    }
}

/// The connection given says where the server listens, and when all is over.
pub fn tonic(setting: &Setting) -> Sample {
    between(
        setting,
        |setting, connection| {
            run(async {
                let port = socket(connection)?.read_u16().await?;
                let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?;
                let client = (client::Grpc::new(endpoint.connect().await?), setting.bytes);
                call(setting.parallel, client, once).await;
                Ok(())
            });
        },
        |_, connection| {
            run(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let mut connection = socket(connection)?;
                connection.write_u16(listener.local_addr()?.port()).await?;
                let end = async move {
                    let _ = connection.read_u8().await;
                };
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                let server = Server::builder().add_service(Object(Arc::default()));
                Ok(server.serve_with_incoming_shutdown(incoming, end).await?)
            });
        },
    )
}

async fn once((mut client, bytes): (client::Grpc<Channel>, usize)) -> Result<Response<Before>, Status> {
    client.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let path = PathAndQuery::from_static("/table.Object/Add");
    client.unary(Request::new(Add { amounts: vec![1; bytes] }), path, ProstCodec::default()).await
}
