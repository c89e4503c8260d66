//! A client's requests. Their header fields are about as many and as long as a browser's.

use anyhow::{Context as _, Result};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HOST, HeaderMap, HeaderName, HeaderValue, REFERER, USER_AGENT,
};
use http::{Request, Version};
use netwarp_transport::identity::SERVER_NAME;
use netwarp_transport::stack_of;
use netwarp_wire::job::{Http, PageResource, ResourceType, TransportKind};
use netwarp_wire::request_prefix::RequestPrefix;

use super::priority::Priority;

/// The field with the client's number for the connection, by which the records of both ends are matched.
const CONNECTION_NUMBER: HeaderName = HeaderName::from_static("netwarp-connection");

/// The field with the run's token, by which a server recognises its client if hosts outside the run could reach the
/// server.
const TOKEN: HeaderName = HeaderName::from_static("netwarp-token");

/// The `priority` field (RFC 9218, section 5).
const PRIORITY: HeaderName = HeaderName::from_static("priority");

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) netwarp/1.0 Safari/537.36";

/// Returns the GET request for a resource.
///
/// # Errors
/// The path is not valid in a URL.
pub(super) fn request(
    http: Http,
    transport: TransportKind,
    resource: &PageResource,
    connection: ConnectionNumber,
    token: Option<RequestPrefix>,
) -> Result<Request<()>> {
    let scheme = if stack_of(transport).is_encrypted() { "https" } else { "http" };
    let origin = format!("{scheme}://{SERVER_NAME}");
    let (version, uri) = match http {
        Http::H1 => (Version::HTTP_11, resource.path.clone()),
        Http::H2 => (Version::HTTP_2, format!("{origin}{}", resource.path)),
        Http::H3 => (Version::HTTP_3, format!("{origin}{}", resource.path)),
    };
    let request = Request::builder().version(version).uri(&uri).body(());
    let mut request = request.with_context(|| format!("asking for {uri}"))?;
    let fields = request.headers_mut();
    if http == Http::H1 {
        fields.insert(HOST, HeaderValue::from_static(SERVER_NAME));
    }
    fields.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    fields.insert(ACCEPT, HeaderValue::from_static(accepted(resource.resource_type)));
    fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br, zstd"));
    fields.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("en-US,en;q=0.9"));
    if resource.initiator.is_some() {
        fields.insert(REFERER, HeaderValue::try_from(format!("{origin}/")).context("naming the page")?);
    }
    let priority = Priority { urgency: resource.urgency, incremental: resource.incremental };
    fields.insert(PRIORITY, HeaderValue::try_from(priority.to_field()).context("writing a priority")?);
    fields.insert(CONNECTION_NUMBER, HeaderValue::try_from(connection.to_field()).context("numbering a connection")?);
    if let Some(token) = token {
        fields.insert(TOKEN, HeaderValue::try_from(String::from(token)).context("writing the token")?);
    }
    Ok(request)
}

/// The client's number for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionNumber {
    /// The index of the visit, starting at 0.
    pub visit: u32,
    /// The index among the visit's connections, starting at 0.
    pub connection: u32,
}

impl ConnectionNumber {
    /// Returns the number as a field value: `CONNECTION` in the first visit, both numbers in later visits.
    fn to_field(self) -> String {
        let visit = if self.visit == 0 { String::new() } else { format!(";{}", self.visit) };
        format!("{}{visit}", self.connection)
    }

    /// Parses the number from a request's fields; `None` if there is none, as in requests of other clients than
    /// netwarp's.
    pub(super) fn of_request(fields: &HeaderMap) -> Option<Self> {
        let field = fields.get(CONNECTION_NUMBER)?.to_str().ok()?;
        let (connection, visit) = field.split_once(';').unwrap_or((field, "0"));
        Some(Self { visit: visit.parse().ok()?, connection: connection.parse().ok()? })
    }
}

/// Returns whether a request carries the run's token. If the run has none, every request passes.
pub(super) fn has_token(fields: &HeaderMap, token: Option<RequestPrefix>) -> bool {
    let given = || hex::decode(fields.get(TOKEN)?.as_bytes()).ok();
    token.is_none_or(|token| given().is_some_and(|given| token.is(&given)))
}

/// Returns the priority that a request states.
pub(super) fn priority(fields: &HeaderMap) -> Priority {
    Priority::of_field(fields.get(PRIORITY).and_then(|field| field.to_str().ok()).unwrap_or(""))
}

fn accepted(resource_type: ResourceType) -> &'static str {
    match resource_type {
        ResourceType::Document => {
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"
        }
        ResourceType::Stylesheet => "text/css,*/*;q=0.1",
        ResourceType::Image => "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
        ResourceType::Script | ResourceType::Font | ResourceType::Fetch | ResourceType::Other => "*/*",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_of_the_run_lets_a_request_in() {
        let token = RequestPrefix(*b"12345678");
        let fields = |value: &str| HeaderMap::from_iter([(TOKEN, HeaderValue::from_str(value).unwrap())]);
        assert!(has_token(&HeaderMap::new(), None));
        assert!(has_token(&fields("3132333435363738"), Some(token)));
        for wrong in ["", "3132333435363739", "31323334353637", "no token"] {
            assert!(!has_token(&fields(wrong), Some(token)), "{wrong}");
        }
        assert!(!has_token(&HeaderMap::new(), Some(token)));
    }

    #[test]
    fn a_connection_s_number_is_read_as_it_was_written() {
        for (visit, connection, written) in [(0, 3, "3"), (1, 0, "0;1")] {
            let number = ConnectionNumber { visit, connection };
            assert_eq!(number.to_field(), written);
            let fields = HeaderMap::from_iter([(CONNECTION_NUMBER, HeaderValue::from_static(written))]);
            assert_eq!(ConnectionNumber::of_request(&fields), Some(number));
        }
        assert_eq!(ConnectionNumber::of_request(&HeaderMap::new()), None);
    }
}
