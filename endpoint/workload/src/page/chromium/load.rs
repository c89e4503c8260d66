//! Builds the records of a page load from a browser's events. Pure.

use std::collections::HashMap;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use netwarp_wire::job::{Http, Page};
use netwarp_wire::record::ResourceRecord;
use serde_json::Value;

use super::devtools::Event;

/// The path that browsers request although no page refers to it.
const UNASKED: &str = "/favicon.ico";

/// Chromium's error for every QUIC connection that failed or ended.
const FAILED_OVER_QUIC: &str = "net::ERR_QUIC_PROTOCOL_ERROR";

/// The state of a page load.
pub(super) struct Load<'a> {
    page: &'a Page,
    origin: String,
    epoch_ns: u64,
    /// Each resource's index in the page, by its path.
    places: HashMap<&'a str, usize>,
    under_way: HashMap<String, Request>,
    /// For each connection, by the browser's id: its number in the records, and how many requests it has carried so
    /// far.
    connections: HashMap<u64, (u32, u32)>,
    /// When the page's load event ended, in nanoseconds since the run's epoch.
    pub load_event_ns: Option<u64>,
    records: Vec<Option<ResourceRecord>>,
    /// Whether each resource came from the browser's cache; indexed like the page's resources.
    is_cached: Vec<bool>,
}

/// A request that the browser has made.
struct Request {
    /// The index of the resource; `None` if the path is not part of the page.
    resource: Option<usize>,
    fetch_start_ns: u64,
    bytes: u64,
    answered: Option<Answered>,
}

struct Answered {
    status: u16,
    http: Http,
    connection: u32,
    request: u32,
    request_start_ns: u64,
    response_start_ns: u64,
}

impl<'a> Load<'a> {
    /// Creates a load without events.
    pub(super) fn new(page: &'a Page, origin: String, epoch_ns: u64) -> Self {
        let places = page.resources.iter().enumerate().map(|(place, resource)| (resource.path.as_str(), place));
        Self {
            page,
            origin,
            epoch_ns,
            places: places.collect(),
            under_way: HashMap::new(),
            connections: HashMap::new(),
            load_event_ns: None,
            records: page.resources.iter().map(|_| None).collect(),
            is_cached: vec![false; page.resources.len()],
        }
    }

    /// Adds an event of the browser to the load.
    ///
    /// # Errors
    /// The event shows that the load failed, or that something else than the page was loaded.
    pub(super) fn take(&mut self, event: &Event) -> Result<()> {
        let told = &event.parameters;
        match event.method.as_str() {
            "Page.loadEventFired" => self.load_event_ns = Some(self.time_ns(&told["timestamp"])?),
            "Network.requestWillBeSent" => self.requested(told)?,
            "Network.responseReceived" if told["response"]["fromDiskCache"] == true => self.cached(id(told)),
            "Network.responseReceived" => {
                let answered = self.answered(&told["response"])?;
                if let (Some(request), Some(answered)) = (self.request(told), answered) {
                    request.answered = Some(answered);
                }
            }
            "Network.requestServedFromCache" => self.cached(id(told)),
            "Network.dataReceived" => {
                let bytes = told["dataLength"].as_u64().unwrap_or(0);
                if let Some(request) = self.request(told) {
                    request.bytes += bytes;
                }
            }
            "Network.loadingFinished" => {
                let end_ns = self.time_ns(&told["timestamp"])?;
                if let Some(request) = self.under_way.remove(id(told)) {
                    self.finished(request, end_ns)?;
                }
            }
            "Network.loadingFailed" => self.failed(told)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns whether every request so far has been answered.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.values().all(|request| request.resource.is_none())
    }

    /// Returns whether all resources of the page have arrived.
    pub(super) fn is_whole(&self) -> bool {
        self.load_event_ns.is_some()
            && self.records.iter().zip(&self.is_cached).all(|(record, is_cached)| record.is_some() || *is_cached)
    }

    /// Returns the records of all resources.
    ///
    /// # Errors
    /// The browser has not requested a resource.
    pub(super) fn into_records(self) -> Result<Vec<ResourceRecord>> {
        let page = self.page;
        let records = self.records.into_iter().zip(&page.resources).zip(self.is_cached);
        let asked_for = records.filter(|((record, _), is_cached)| record.is_some() || !is_cached);
        asked_for
            .map(|((record, resource), _)| {
                record.with_context(|| format!("the browser has not asked for {}, which the page has", resource.path))
            })
            .collect()
    }

    /// Records that a resource came from the cache, over no connection.
    fn cached(&mut self, id: &str) {
        if let Some(place) = self.under_way.remove(id).and_then(|request| request.resource) {
            self.is_cached[place] = true;
        }
    }

    fn request(&mut self, told: &Value) -> Option<&mut Request> {
        self.under_way.get_mut(id(told))
    }

    fn requested(&mut self, told: &Value) -> Result<()> {
        let at_ns = self.time_ns(&told["timestamp"])?;
        if let (Some(request), Some(response)) = (self.under_way.remove(id(told)), told.get("redirectResponse")) {
            let answered = self.answered(response)?;
            self.finished(Request { answered, ..request }, at_ns)?;
        }
        let url = told["request"]["url"].as_str().context("a request has no URL")?;
        let resource = match url.strip_prefix(&self.origin) {
            None if url.starts_with("data:") => None,
            None => bail!("the page has the browser ask for {url}, which is elsewhere: a run has one server"),
            Some(UNASKED) => None,
            Some(path) => {
                let place = self.places.get(path).copied();
                Some(place.with_context(|| format!("the browser asks for {path}, which the page does not have"))?)
            }
        };
        let request = Request { resource, fetch_start_ns: at_ns, bytes: 0, answered: None };
        self.under_way.insert(id(told).to_owned(), request);
        Ok(())
    }

    /// Returns status, protocol, connection and times of a response, from its event; `None` for a response without a
    /// connection.
    fn answered(&mut self, response: &Value) -> Result<Option<Answered>> {
        let url = response["url"].as_str().unwrap_or_default();
        let Some(timing) = response.get("timing").filter(|_| !url.starts_with("data:")) else { return Ok(None) };
        let http = match response["protocol"].as_str() {
            Some("http/1.1") => Http::H1,
            Some("h2") => Http::H2,
            Some("h3") => Http::H3,
            other => bail!("{url} came over {}, which is no version of HTTP", other.unwrap_or("nothing")),
        };
        let begun_s = timing["requestTime"].as_f64().context("a response has no times")?;
        let since = |name: &str| -> Result<u64> {
            let offset_ms = timing[name].as_f64().with_context(|| format!("a response has no time {name}"))?;
            self.run_time_ns(begun_s + offset_ms / 1e3)
        };
        let (request_start_ns, response_start_ns) = (since("sendStart")?, since("receiveHeadersEnd")?);
        let number = response["connectionId"].as_f64().unwrap_or(0.0) as u64;
        let next = self.connections.len() as u32;
        let (connection, requests) = self.connections.entry(number).or_insert((next, 0));
        *requests += 1;
        Ok(Some(Answered {
            status: response["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0),
            http,
            connection: *connection,
            request: *requests - 1,
            request_start_ns,
            response_start_ns,
        }))
    }

    fn finished(&mut self, request: Request, end_ns: u64) -> Result<()> {
        let Request { resource: Some(resource), fetch_start_ns, bytes, answered } = request else { return Ok(()) };
        let expected = &self.page.resources[resource];
        let path = &expected.path;
        let answered = answered.with_context(|| format!("{path} was finished without a response from the server"))?;
        let Answered { status, http, connection, request, request_start_ns, response_start_ns } = answered;
        ensure!(status == expected.status, "{path} was answered with {status}, not {}", expected.status);
        ensure!(
            self.page.may_use(http),
            "{path} was to come over {}, and came over {}",
            self.page.http.name(),
            http.name()
        );
        ensure!(self.records[resource].is_none(), "the browser has asked for {path} twice");
        self.records[resource] = Some(ResourceRecord {
            resource: resource as u32,
            connection,
            request,
            http,
            status,
            bytes,
            fetch_start_ns,
            // The renderer and the network process read the time separately, so these times may be out of order by a
            // microsecond.
            request_start_ns: request_start_ns.max(fetch_start_ns),
            response_start_ns: response_start_ns.max(fetch_start_ns),
            response_end_ns: end_ns.max(response_start_ns),
            sha256: None,
        });
        Ok(())
    }

    fn failed(&mut self, told: &Value) -> Result<()> {
        match self.under_way.remove(id(told)).and_then(|request| request.resource) {
            None => Ok(()),
            Some(resource) => Err(not_loaded(&self.page.resources[resource].path, told["errorText"].as_str())),
        }
    }

    fn time_ns(&self, seconds: &Value) -> Result<u64> {
        self.run_time_ns(seconds.as_f64().context("the browser told of something without a time")?)
    }

    /// Converts a browser's time in seconds of `CLOCK_MONOTONIC` to nanoseconds since the run's epoch.
    fn run_time_ns(&self, seconds: f64) -> Result<u64> {
        let at_ns = (seconds * 1e6).round() as u64 * 1000;
        at_ns.checked_sub(self.epoch_ns).context("the browser's clock is before the run's")
    }
}

/// Returns the error for a resource that a browser could not load, with the browser's reason.
pub(super) fn not_loaded(path: &str, reason: Option<&str>) -> Error {
    let reason = reason.unwrap_or("it does not say why");
    let says_no_more = if reason == FAILED_OVER_QUIC {
        ": of a connection over QUIC it tells no more, be it that it does not trust the server's certificate"
    } else {
        ""
    };
    anyhow!("the browser could not load {path}: {reason}{says_no_more}")
}

fn id(told: &Value) -> &str {
    told["requestId"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use serde_json::json;

    use super::*;

    const EPOCH_NS: u64 = 1_000_000_000;

    fn page() -> Page {
        let mut page = golden::page("page-programs");
        page.resources.truncate(1);
        page.discovers_http3 = false;
        page
    }

    /// Returns the events that a browser reports for a page that is a single document.
    fn told(protocol: &str, status: u16) -> Vec<(&'static str, Value)> {
        let timing = json!({ "requestTime": 1.1, "sendStart": 200.0, "receiveHeadersEnd": 300.5 });
        let response = json!({
            "url": "https://here/", "status": status, "protocol": protocol, "connectionId": 45.0, "timing": timing,
        });
        vec![
            ("requestWillBeSent", json!({ "requestId": "a", "timestamp": 1.1, "request": { "url": "https://here/" } })),
            ("responseReceived", json!({ "requestId": "a", "response": response })),
            ("dataReceived", json!({ "requestId": "a", "dataLength": 15_000 })),
            ("loadingFinished", json!({ "requestId": "a", "timestamp": 1.5 })),
        ]
    }

    fn take(page: &Page, events: Vec<(&str, Value)>) -> Result<Vec<ResourceRecord>> {
        let mut load = Load::new(page, "https://here".to_owned(), EPOCH_NS);
        for (method, parameters) in events {
            load.take(&Event { method: format!("Network.{method}"), parameters })?;
        }
        load.into_records()
    }

    fn refusal(events: Vec<(&str, Value)>) -> String {
        take(&page(), events).expect_err("it is no load of the page").to_string()
    }

    #[test]
    fn a_resource_has_the_times_that_the_browser_tells() {
        let records = take(&page(), told("h3", 200)).unwrap();
        let ResourceRecord {
            http, bytes, fetch_start_ns, request_start_ns, response_start_ns, response_end_ns, ..
        } = records[0];
        assert_eq!((http, bytes), (Http::H3, 15_000));
        assert_eq!((fetch_start_ns, request_start_ns), (100_000_000, 300_000_000));
        assert_eq!((response_start_ns, response_end_ns), (400_500_000, 500_000_000));
    }

    #[test]
    fn what_was_in_the_cache_has_no_record() {
        let mut page = page();
        let mut style = page.resources[0].clone();
        (style.path, style.initiator) = ("/style".to_owned(), Some(0));
        page.resources.push(style);
        let mut events = told("h3", 200);
        let asked = json!({ "requestId": "b", "timestamp": 1.5, "request": { "url": "https://here/style" } });
        let response = json!({ "url": "https://here/style", "fromDiskCache": true });
        events.push(("requestWillBeSent", asked));
        events.push(("responseReceived", json!({ "requestId": "b", "response": response })));
        let records = take(&page, events).unwrap();
        assert_eq!(records.iter().map(|record| record.resource).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn another_version_of_http_or_another_answer_is_a_failure() {
        assert_eq!(refusal(told("h2", 200)), "/ was to come over h3, and came over h2");
        let discovering = Page { discovers_http3: true, ..page() };
        assert_eq!(take(&discovering, told("h2", 200)).unwrap()[0].http, Http::H2);
        assert_eq!(refusal(told("h3", 404)), "/ was answered with 404, not 200");
    }

    #[test]
    fn what_the_page_does_not_have_and_what_does_not_come_are_failures() {
        let asks = |url: &str| {
            vec![("requestWillBeSent", json!({ "requestId": "b", "timestamp": 1.1, "request": { "url": url } }))]
        };
        assert_eq!(refusal(asks("https://here/x")), "the browser asks for /x, which the page does not have");
        assert!(refusal(asks("https://there/")).contains("which is elsewhere"));
        assert_eq!(refusal(asks("https://here/favicon.ico")), "the browser has not asked for /, which the page has");
        let failed =
            [told("h3", 200)[0].clone(), ("loadingFailed", json!({ "requestId": "a", "errorText": "net::ERR" }))];
        assert_eq!(refusal(failed.to_vec()), "the browser could not load /: net::ERR");
        assert!(
            not_loaded("/", Some(FAILED_OVER_QUIC)).to_string().ends_with("does not trust the server's certificate")
        );
    }

    #[test]
    fn a_redirection_is_a_resource_of_its_own() {
        let mut page = page();
        let mut target = page.resources[0].clone();
        (page.resources[0].status, page.resources[0].location) = (301, Some("/new".to_owned()));
        (target.path, target.initiator) = ("/new".to_owned(), Some(0));
        page.resources.push(target);
        let mut events = told("h3", 200);
        let response = told("h3", 301)[1].1["response"].clone();
        let request = json!({ "url": "https://here/new" });
        let next = json!({ "requestId": "a", "timestamp": 1.45, "request": request, "redirectResponse": response });
        events.insert(1, ("requestWillBeSent", next));
        let records = take(&page, events).unwrap();
        let seen: Vec<_> =
            records.iter().map(|record| (record.status, record.request, record.response_end_ns)).collect();
        assert_eq!(seen, [(301, 0, 450_000_000), (200, 1, 500_000_000)]);
    }
}
