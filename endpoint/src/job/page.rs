//! The workload of a web page, and what a client recorded of each of its resources.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A web page: a client loads its document and all that follows from it.
///
/// A resource is requested when the one that refers to it has run: when it has arrived, and all that blocks it has run.
/// The page is loaded when all resources have arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// How it is asked for.
    pub http: Http,
    /// The most connections the client opens to the server.
    pub connections: u32,
    /// Of the bytes of resources that are no files.
    pub seed: u64,
    /// The document first; each after the one that refers to it.
    pub resources: Vec<PageResource>,
    /// Hash what arrives, and compare with the page's bytes; a browser's only counted.
    pub verify: bool,
    /// How often the client visits the page, each time on new connections. The last is measured.
    pub visits: u32,
    /// Whether all but the document is in the client's cache after the first visit.
    pub cache: bool,
    /// Whether a client learns that the server speaks HTTP/3 from its answers over HTTP/2 (Alt-Svc, RFC 7838); else it
    /// knows before the first visit.
    pub discovers_http3: bool,
    /// The program that loads the page; null for the endpoint itself.
    pub client: Option<WebProgram>,
    /// The program that serves it; null for the endpoint itself.
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
#[serde(deny_unknown_fields)]
pub struct PageResource {
    /// What is asked for: path and query of its URL.
    pub path: String,
    /// What it is to the page.
    pub resource_type: ResourceType,
    /// Size of the response's content, as it travels.
    pub body_bytes: u64,
    /// Absolute path of the file it is; null for bytes made from the seed.
    pub file: Option<String>,
    /// The server's answer, such as 200.
    pub status: u16,
    /// Where a redirection leads, for its answer says so.
    pub location: Option<String>,
    /// Index of the resource that refers to it; null for the document.
    pub initiator: Option<u32>,
    /// Indices of the resources that have to run before it does: of a script, the stylesheets and the scripts before
    /// it.
    pub blocked_by: Vec<u32>,
    /// Whether nothing is shown before it has run.
    pub render_blocking: bool,
    /// Priority with which it is asked for (RFC 9218), 0 the most urgent.
    pub urgency: u8,
    /// Whether it is of use before it is whole (RFC 9218).
    pub incremental: bool,
}

/// What a resource is to the page that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceType {
    /// The page itself, or one in a frame of it.
    Document,
    /// CSS.
    Stylesheet,
    /// JavaScript.
    Script,
    /// An image, of any format.
    Image,
    /// A font that the page brings along.
    Font,
    /// What a script asked for.
    Fetch,
    /// A resource of none of the other types.
    Other,
}

/// A program of the machine at one end of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebProgram {
    /// Which one it is.
    pub kind: WebProgramKind,
    /// What its executable may be called; the first that is there is started.
    pub names: Vec<String>,
}

/// A program that is not netwarp's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebProgramKind {
    /// The browser, without a window.
    Chromium,
    /// A server of HTTP/1.1, 2 and 3, whose QUIC is quic-go.
    Caddy,
    /// A server of HTTP/1.1 and 2.
    Nginx,
}
