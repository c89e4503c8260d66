//! A server's responses: the bytes of resources, passed to HTTP block by block in the order of priority.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{ALT_SVC, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use netwarp_transport::error::{Context as _, Error, Result};
use netwarp_wire::content::Reader;
use netwarp_wire::job::{Http, ResourceType};
use netwarp_wire::request_prefix::RequestPrefix;

use super::priority::{Responses, Turn};
use super::request::{self, ConnectionNumber};
use super::site::Site;

/// The Alt-Svc value (RFC 7838) that offers HTTP/3 at [`netwarp_transport::PORT`] for a day.
const HTTP3_HERE: &str = "h3=\":4433\"; ma=86400";

/// The size of the blocks that are passed to HTTP, in bytes. It is small, because data once passed is sent before more
/// urgent data.
pub(super) const BLOCK_BYTES: usize = 16 << 10;

/// Makes the server's responses to the requests of one connection.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    site: Arc<Site>,
    responses: Responses,
    /// The client's number for the connection, once a request has carried it.
    number: Arc<OnceLock<ConnectionNumber>>,
    /// The run's token, which requests must carry; `None` if no host outside the run can reach the server.
    token: Option<RequestPrefix>,
    /// The Alt-Svc value of every response, if clients must learn that the server offers HTTP/3.
    advertised: Option<HeaderValue>,
}

impl Answers {
    /// Creates the state of a connection on which no request has arrived.
    ///
    /// # Arguments
    /// * `http` - the connection's version of HTTP.
    /// * `token` - the run's token, which requests must carry; `None` if no host outside the run can reach the server.
    pub(super) fn new(site: Arc<Site>, http: Http, token: Option<RequestPrefix>) -> Self {
        // Clients that speak HTTP/3 know of it.
        let is_news = site.page.discovers_http3 && http != Http::H3;
        let advertised = is_news.then(|| HeaderValue::from_static(HTTP3_HERE));
        Self { site, responses: Responses::default(), number: Arc::default(), token, advertised }
    }

    /// Returns the client's number for the connection, if a request has carried it.
    pub(super) fn connection_number(&self) -> Option<ConnectionNumber> {
        self.number.get().copied()
    }

    /// Returns header section and content of the response to a request: 404 for a resource that the page does not have,
    /// 403 for a request without the run's token.
    ///
    /// # Errors
    /// The resource cannot be read, or no response can be built for it.
    pub(super) fn answer(&self, path: &str, fields: &HeaderMap) -> Result<(Response<()>, Content)> {
        let mut head = Response::new(());
        if !request::has_token(fields, self.token) {
            *head.status_mut() = StatusCode::FORBIDDEN;
            return Ok((head, Content(None)));
        }
        if let Some(number) = ConnectionNumber::of_request(fields) {
            self.number.get_or_init(|| number);
        }
        let Some(index) = self.site.find(path) else {
            *head.status_mut() = StatusCode::NOT_FOUND;
            return Ok((head, Content(None)));
        };
        let resource = &self.site.page.resources[index];
        *head.status_mut() = StatusCode::from_u16(resource.status).context("choosing a status")?;
        head.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type(resource.resource_type)));
        if let Some(advertised) = &self.advertised {
            head.headers_mut().insert(ALT_SVC, advertised.clone());
        }
        if self.site.page.cache {
            head.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching(index)));
        }
        if let Some(location) = &resource.location {
            let location = HeaderValue::try_from(location).context("writing where a redirection leads")?;
            head.headers_mut().insert(LOCATION, location);
        }
        let reader = self.site.open(index).with_context(|| format!("answering the request for {path}"))?;
        let turn = self.responses.begin(request::priority(fields));
        Ok((head, Content((reader.remaining_bytes() > 0).then_some((reader, turn)))))
    }
}

/// Returns the `cache-control` of a response: the document is not cached, and the other resources are kept for a year.
pub(super) fn caching(index: usize) -> &'static str {
    if index == 0 { "no-store" } else { "max-age=31536000, immutable" }
}

/// The part of a response's content that is left to send.
pub(super) struct Content(Option<(Reader, Turn)>);

impl Content {
    /// Returns the next block once this response may send; `None` at its end.
    pub(super) fn poll_block(&mut self, context: &Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let Some((reader, turn)) = &mut self.0 else { return Poll::Ready(None) };
        ready!(turn.poll(context));
        let mut block = vec![0; reader.remaining_bytes().min(BLOCK_BYTES as u64) as usize];
        let read = reader.read(&mut block).context("reading a resource").map(drop);
        if reader.remaining_bytes() == 0 {
            // Other responses need not wait until the last block has been sent.
            self.0 = None;
        }
        Poll::Ready(Some(read.map(|()| block.into())))
    }

    /// Returns how many bytes of the content have not been returned yet.
    pub(super) fn remaining_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |(reader, _)| reader.remaining_bytes())
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>>>> {
        self.poll_block(context).map(|block| block.map(|block| block.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes())
    }
}

/// Returns the `content-type` of a resource.
pub(super) fn media_type(resource_type: ResourceType) -> &'static str {
    match resource_type {
        ResourceType::Document => "text/html; charset=utf-8",
        ResourceType::Stylesheet => "text/css",
        ResourceType::Script => "text/javascript",
        ResourceType::Image => "image/webp",
        ResourceType::Font => "font/woff2",
        ResourceType::Fetch => "application/json",
        ResourceType::Other => "application/octet-stream",
    }
}
