//! The workload of a web page, and the record that a client makes of each of its resources.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A web page: a client loads its document, and all resources to which the document and other resources refer.
///
/// A resource is requested when the one that refers to it has run. A resource runs when it has arrived and all that
/// block it have run. The page is loaded when all resources have arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Page {
    /// The version of HTTP with which the page is requested.
    pub http: Http,
    /// Maximum number of connections that the client opens to the server.
    pub connections: u32,
    /// Seed of the bytes of resources that are not files.
    pub seed: u64,
    /// The resources: the document first, and each after the one that refers to it.
    pub resources: Vec<PageResource>,
    /// Whether the client hashes the content that it receives and compares it with the page's bytes; for a browser,
    /// only sizes are compared.
    pub verify: bool,
    /// Number of visits of the client to the page, each on new connections. The last one is measured.
    pub visits: u32,
    /// Whether everything but the document is in the client's cache after the first visit.
    pub cache: bool,
    /// Whether the client learns from responses over HTTP/2 that the server offers HTTP/3 (Alt-Svc, RFC 7838);
    /// otherwise it knows this before the first visit.
    pub discovers_http3: bool,
    /// The program that loads the page; null for the endpoint itself.
    pub client: Option<WebProgram>,
    /// The program that serves the page; null for the endpoint itself.
    pub server: Option<WebProgram>,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Http {
    /// HTTP/1.1 (RFC 9112), over several connections.
    H1,
    /// HTTP/2 (RFC 9113), over one connection.
    H2,
    /// HTTP/3 (RFC 9114), over one QUIC connection.
    H3,
}

/// One resource of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct PageResource {
    /// Path and query of the resource's URL.
    pub path: String,
    /// The type of the resource.
    pub resource_type: ResourceType,
    /// Size of the response's content as it is sent, in bytes.
    pub body_bytes: u64,
    /// Absolute path of the resource's file; null for bytes made from the seed.
    pub file: Option<String>,
    /// Status of the response, such as 200.
    pub status: u16,
    /// The target of a redirect, as the response states it.
    pub location: Option<String>,
    /// Index of the resource that refers to this one; null for the document.
    pub initiator: Option<u32>,
    /// Indices of the resources that must run before this one: for a script, the stylesheets and scripts before it.
    pub blocked_by: Vec<u32>,
    /// Whether the resource blocks rendering: nothing is shown before it has run.
    pub render_blocking: bool,
    /// Urgency of the request (RFC 9218), 0 for the most urgent.
    pub urgency: u8,
    /// Whether the client can use the response before it is complete (RFC 9218).
    pub incremental: bool,
}

/// The role of a resource in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceType {
    /// The HTML of the page, or of a frame in it.
    Document,
    /// CSS.
    Stylesheet,
    /// JavaScript.
    Script,
    /// An image, of any format.
    Image,
    /// A web font.
    Font,
    /// Data that a script fetches.
    Fetch,
    /// A resource of any other type.
    Other,
}

/// An installed program that is the client or the server of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct WebProgram {
    /// The program's kind.
    pub kind: WebProgramKind,
    /// Names that the program's executable may have; the first that is installed is started.
    pub names: Vec<String>,
}

/// The kinds of installed browsers and web servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebProgramKind {
    /// The browser Chromium, without a window.
    Chromium,
    /// Caddy, a server for HTTP/1.1, HTTP/2 and HTTP/3, whose QUIC is quic-go.
    Caddy,
    /// nginx, as a server for HTTP/1.1 and HTTP/2.
    Nginx,
}
