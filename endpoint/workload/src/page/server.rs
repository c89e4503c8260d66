//! The server of `page`: answers the requests on one connection.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use netwarp_transport::error::{Context as _, Result, bail};
use netwarp_transport::{Carrier, Connection, Duplex};
use netwarp_wire::job::{Http, Page};
use netwarp_wire::record::{ConnectionRecord, Record, Side};

use super::http3;
use super::response::{Answers, BLOCK_BYTES, Content};
use super::site::Site;
use crate::{Finish, Run, connection_record, finished, unless_finished};

/// Serves a connection until its client has closed it, or is done with the whole run. Returns the connection's record;
/// none if there was no request.
///
/// # Errors
/// A resource cannot be read; the client violates the protocol.
pub(super) async fn serve(
    run: &Run,
    page: &Page,
    mut connection: Box<dyn Connection>,
    mut finish: Finish,
) -> Result<Vec<Record>> {
    let carrier = connection.carrier()?;
    let http = match (&carrier, page.http) {
        // A client that does not know yet that the server offers HTTP/3.
        (Carrier::Bytes(_), Http::H3) => Http::H2,
        (_, http) => http,
    };
    let answers = Answers::new(Arc::new(Site::of(page)?), http, run.token);
    tokio::select! {
        served = speak(http, run.job.only().transport.buffer_bytes, carrier, answers.clone()) => match served {
            // A browser closes connections at any time, and reports itself whether it has the page.
            Err(_) if page.client.is_some() => return Ok(Vec::new()),
            served => served?,
        },
        () = finished(&mut finish) => {}
    }
    let Some(number) = answers.connection_number() else { return Ok(Vec::new()) };
    let record = connection_record(run, Side::Server, &*connection, false)?;
    let record = record.map(|record| {
        Record::Connection(ConnectionRecord { connection: number.connection, transfer: number.visit, ..record })
    });
    unless_finished(&mut finish, connection.closed()).await?;
    Ok(record.into_iter().collect())
}

async fn speak(http: Http, window_bytes: u64, carrier: Carrier, answers: Answers) -> Result<()> {
    match (http, carrier) {
        (Http::H1, Carrier::Bytes(bytes)) => speak_http1(bytes, answers).await,
        (Http::H2, Carrier::Bytes(bytes)) => speak_http2(bytes, window_bytes, answers).await,
        (Http::H3, Carrier::Quic(streams)) => http3::speak(streams, answers).await,
        (http, _) => bail!("{http:?} does not run over the job's transport"),
    }
}

async fn speak_http1(bytes: Box<dyn Duplex>, answers: Answers) -> Result<()> {
    let service = service_fn(move |request| std::future::ready(answer(&answers, &request)));
    let served = http1::Builder::new().serve_connection(TokioIo::new(bytes), service).await;
    served.context("serving HTTP/1.1")
}

/// Runs HTTP/2 on a connection, with a small send buffer: buffered data is sent before more urgent data.
async fn speak_http2(bytes: Box<dyn Duplex>, window_bytes: u64, answers: Answers) -> Result<()> {
    let service = service_fn(move |request| std::future::ready(answer(&answers, &request)));
    let served = http2::Builder::new(TokioExecutor::new())
        .max_send_buf_size(BLOCK_BYTES)
        .initial_connection_window_size(super::window(window_bytes))
        .serve_connection(TokioIo::new(bytes), service)
        .await;
    served.context("serving HTTP/2")
}

fn answer(answers: &Answers, request: &Request<Incoming>) -> Result<Response<Content>> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let (head, content) = answers.answer(path, request.headers())?;
    Ok(head.map(|()| content))
}

#[cfg(test)]
mod tests {
    use netwarp_core::content_sink::Sink;
    use netwarp_wire::golden;
    use netwarp_wire::job::TransportKind;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;
    use crate::page::exchange::{Exchange, Requester, Response as Answer, connect};
    use crate::page::request::{ConnectionNumber, request};

    const NUMBER: ConnectionNumber = ConnectionNumber { visit: 1, connection: 7 };
    const WINDOW_BYTES: u64 = 1 << 20;

    fn exchange(page: &Page, http: Http, index: usize) -> Exchange {
        let resource = &page.resources[index];
        let request = request(http, TransportKind::Tcp, resource, NUMBER, None).unwrap();
        Exchange { request, sink: Sink::new(resource.body_bytes, true) }
    }

    /// Runs a test on an event loop, with a server of the page and a client that is connected to it.
    fn with_server(http: Http, page: &Page, test: impl AsyncFnOnce(Requester, Answers)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = duplex(BLOCK_BYTES);
            let answers = Answers::new(Arc::new(Site::of(page).unwrap()), http, None);
            let serving = tokio::spawn(speak(http, WINDOW_BYTES, Carrier::Bytes(Box::new(theirs)), answers.clone()));
            let (requester, _) = connect(http, Carrier::Bytes(Box::new(ours)), WINDOW_BYTES).await.unwrap();
            test(requester, answers).await;
            serving.await.unwrap().unwrap();
        });
    }

    /// Runs a test on an event loop, with a client of HTTP/1.1; the test itself is the server.
    fn with_peer(test: impl AsyncFnOnce(Requester, DuplexStream)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = duplex(BLOCK_BYTES);
            let (requester, _) = connect(Http::H1, Carrier::Bytes(Box::new(ours)), WINDOW_BYTES).await.unwrap();
            test(requester, theirs).await;
        });
    }

    #[test]
    fn every_resource_arrives_as_the_page_has_it() {
        for http in [Http::H1, Http::H2] {
            let page = golden::page("page-tls");
            with_server(http, &page, async |mut requester, answers| {
                let site = Site::of(&page).unwrap();
                for (index, resource) in page.resources.iter().enumerate() {
                    let Answer { status, sink, .. } = requester.exchange(exchange(&page, http, index)).await.unwrap();
                    assert_eq!(status, resource.status, "{http:?}: {}", resource.path);
                    let received = sink.received().unwrap().sha256;
                    assert_eq!(received, Some(site.sha256(index).unwrap()), "{http:?}: {}", resource.path);
                }
                assert_eq!(answers.connection_number(), Some(NUMBER));
            });
        }
    }

    #[test]
    fn what_the_page_does_not_have_is_not_found() {
        for http in [Http::H1, Http::H2] {
            let page = golden::page("page-tls");
            with_server(http, &page, async |mut requester, _| {
                let mut asked = page.clone();
                (asked.resources[1].path, asked.resources[1].body_bytes) = ("/elsewhere".to_owned(), 0);
                let answer = requester.exchange(exchange(&asked, http, 1)).await.unwrap();
                assert_eq!(answer.status, 404, "{http:?}");
            });
        }
    }

    #[test]
    fn the_more_urgent_overtakes_what_is_being_sent() {
        let mut page = golden::page("page-tls");
        let (style, image) = (1, 4);
        page.resources[image].body_bytes = 6_000_000;
        page.resources[style].body_bytes = 100_000;
        with_server(Http::H2, &page, async |mut requester, _| {
            let mut other = requester.another().unwrap();
            let image = requester.exchange(exchange(&page, Http::H2, image));
            let style = async {
                // The image is requested first, and no more of it has arrived than the window allows.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                other.exchange(exchange(&page, Http::H2, style)).await
            };
            let (image, style) = tokio::join!(image, style);
            let (image, style) = (image.unwrap(), style.unwrap());
            assert!(image.request_start < style.request_start);
            assert!(style.response_end < image.response_end, "the image was sent first");
        });
    }

    #[test]
    fn a_server_that_closes_early_is_an_error() {
        let heads: [&[u8]; 3] =
            [b"", b"HTTP/1.1 200 OK\r\nConte", b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\nabc"];
        for head in heads {
            let page = golden::page("page-tls");
            with_peer(async |mut requester, mut peer| {
                let serving = async {
                    let mut request = [0; 1 << 10];
                    assert!(peer.read(&mut request).await.unwrap() > 0);
                    peer.write_all(head).await.unwrap();
                    drop(peer);
                };
                let (answer, ()) = tokio::join!(requester.exchange(exchange(&page, Http::H1, 1)), serving);
                let message = format!("{:#}", answer.err().expect("the answer is not whole"));
                assert!(message.contains("closed") || message.contains("end of file"), "{message}");
            });
        }
    }

    #[test]
    fn more_or_less_than_was_to_come_is_an_error() {
        let page = golden::page("page-tls");
        let bodies: [(usize, &str); 2] = [(1999, "1 bytes of the content have not come"), (2001, "more content than")];
        for (length, expected) in bodies {
            with_peer(async |mut requester, mut peer| {
                let serving = async {
                    let mut request = [0; 1 << 10];
                    assert!(peer.read(&mut request).await.unwrap() > 0);
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                    peer.write_all(&[head.as_bytes(), &vec![0; length]].concat()).await.unwrap();
                };
                let (answer, ()) = tokio::join!(requester.exchange(exchange(&page, Http::H1, 1)), serving);
                let received = answer.and_then(|answer| Ok(answer.sink.received()?));
                let message = format!("{:#}", received.expect_err("it is not what was to come"));
                assert!(message.contains(expected), "{message}");
            });
        }
    }
}
