//! The workload of a web page, and the record that a client makes of each of its resources.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::Http;

/// A resource of a page as the client loaded it. Times are those of W3C's Resource Timing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ResourceRecord {
    /// Index of the resource.
    pub resource: u32,
    /// Index of the connection over which the resource was received.
    pub connection: u32,
    /// Index of the request on its connection, from 0.
    pub request: u32,
    /// The version of HTTP over which the resource was received.
    pub http: Http,
    /// Status of the response.
    pub status: u16,
    /// Size of the content as it arrived (`encodedBodySize`).
    pub bytes: u64,
    /// When the client could first request the resource (`fetchStart`), because a resource that refers to it had run.
    /// The request may have waited for a connection.
    pub fetch_start_ns: u64,
    /// When the request was passed to a connection (`requestStart`).
    pub request_start_ns: u64,
    /// When the header section of the response was received (`responseStart`).
    pub response_start_ns: u64,
    /// When the last byte of the content was received (`responseEnd`).
    pub response_end_ns: u64,
    /// SHA-256 in hexadecimal digits of the content as it arrived; null if the job does not ask for it.
    pub sha256: Option<String>,
}

/// A load of a page as a browser reports it. Times are those of W3C's Navigation Timing and Paint Timing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct PageLoadRecord {
    /// Name and version of the browser.
    pub browser: String,
    /// When the browser was ordered to load the page (`navigationStart`).
    pub navigation_start_ns: u64,
    /// When the page and all its resources had arrived (`loadEventStart`).
    pub load_event_ns: u64,
    /// When the first text or image was shown; null if the browser does not report it.
    pub first_contentful_paint_ns: Option<u64>,
    /// When the largest text or image was shown; null if the browser does not report it.
    pub largest_contentful_paint_ns: Option<u64>,
}
