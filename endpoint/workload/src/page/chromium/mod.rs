//! Chromium as the client of a page: starts it without a window, makes it load the page, and records its events.

mod devtools;
mod load;

use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result, bail};
use netwarp_core::clock::Moment;
use netwarp_core::deadline::Deadline;
use netwarp_core::orchestrator::{Begin, Orchestrator};
use netwarp_transport::PORT;
use netwarp_transport::identity::{SERVER_NAME, key_fingerprint};
use netwarp_wire::job::{Http, Page, WebProgram};
use netwarp_wire::record::{PageLoadRecord, Record, Side};
use netwarp_wire::role_protocol::Order;
use serde_json::{Value, json};

use self::devtools::DevTools;
use self::load::{Load, not_loaded};
use super::servers::{command, find};
use crate::RunPlace;
use crate::command::Host;

/// The options with which Chromium does nothing but load the page: no window, no sandbox of its own (it is root in a
/// guest that runs nothing else), one process, no background requests. It runs as an application's window, which has no
/// tabs: a tab shows an animation while its page loads, and drawing that took three quarters of the CPU time of a long
/// load.
const USUAL: [&str; 20] = [
    "--app=data:text/html,",
    "--headless",
    "--no-sandbox",
    "--single-process",
    "--no-zygote",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--user-data-dir=/tmp/chromium",
];

/// The time without events, after the browser's load event, after which the load counts as complete, in nanoseconds:
/// scripts could still request something.
const QUIET_NS: u64 = 2_000_000_000;

/// The time between two visits, in nanoseconds of the run's clock. It is longer than the idle time-outs of QUIC
/// connections (30 s in Chromium and in quic-go) and of the servers' other connections ([`super::servers`]).
const BETWEEN_VISITS_NS: u64 = 40_000_000_000;

/// The script that reports the paint times, two frames after all of the page has arrived. Its times are milliseconds
/// since the navigation.
const PAINTS: &str = r#"new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => {
    let largest = null;
    const observer = new PerformanceObserver(seen => { for (const each of seen.getEntries()) largest = each.startTime; });
    observer.observe({ type: "largest-contentful-paint", buffered: true });
    setTimeout(() => {
        const first = performance.getEntriesByName("first-contentful-paint")[0];
        resolve({ first: first ? first.startTime : null, largest });
    }, 20);
})))"#;

/// Makes the browser load the page, and writes its records.
///
/// # Errors
/// The browser does not start, or ends early; the page is not loaded completely and as the job says.
pub(super) async fn drive(
    orchestrator: &mut Orchestrator,
    page: &Page,
    program: &WebProgram,
    run: RunPlace<'_>,
) -> Result<()> {
    let Begin { epoch_ns, certificate, .. } = orchestrator.begin().await?;
    let certificate = certificate.context("the server's certificate is missing from the order to begin")?;
    let certificate = hex::decode(certificate).context("reading the server's certificate")?;
    let argv = argv(find(program)?, page, &key_fingerprint(&certificate)?);
    let (mut devtools, theirs): (DevTools, (OwnedFd, OwnedFd)) = DevTools::open()?;
    let mut host = Host::start(Side::Client, &command(argv), run, epoch_ns, Some(theirs))?;
    let records = tokio::select! {
        biased;
        loaded = browse(&mut devtools, page, epoch_ns) => loaded.map_err(|error| error.context("loading the page in chromium"))?,
        status = host.ended() => return Err(host.ended_early(status?, "before the page was loaded")),
        order = orchestrator.next() => return unexpected(order?),
    };
    orchestrator.write(records)
}

fn unexpected(order: Option<Order>) -> Result<()> {
    match order {
        Some(order) => bail!("a browser is not ordered to {order:?} while it loads a page"),
        None => bail!("the orchestrator is gone"),
    }
}

fn argv(executable: String, page: &Page, fingerprint: &str) -> Vec<String> {
    let quic = match page.http {
        Http::H1 | Http::H2 => "--disable-quic".to_owned(),
        // Over QUIC, Chromium accepts a certificate of an unknown root only for hosts with such an origin, here another
        // port of the same host.
        Http::H3 if page.discovers_http3 => format!("--origin-to-force-quic-on={SERVER_NAME}:1"),
        Http::H3 => format!("--origin-to-force-quic-on={SERVER_NAME}:{PORT}"),
    };
    let http1 = (page.http == Http::H1).then(|| "--disable-http2".to_owned());
    let trusted = format!("--ignore-certificate-errors-spki-list={fingerprint}");
    let usual = USUAL.iter().map(|&option| option.to_owned());
    std::iter::once(executable).chain(usual).chain([quic, trusted]).chain(http1).collect()
}

async fn browse(devtools: &mut DevTools, page: &Page, epoch_ns: u64) -> Result<Vec<Record>> {
    let version = devtools.order("Browser.getVersion", json!({})).await?;
    let browser = version["product"].as_str().context("the browser does not say its version")?.to_owned();
    devtools.attach().await?;
    devtools.order("Network.enable", json!({})).await?;
    devtools.order("Page.enable", json!({})).await?;
    devtools.order("Network.setCacheDisabled", json!({ "cacheDisabled": !page.cache })).await?;
    for _ in 1..page.visits {
        visit(devtools, page, epoch_ns).await?;
        leave(devtools).await?;
    }
    let (navigation_start, load) = visit(devtools, page, epoch_ns).await?;
    let paints = json!({ "expression": PAINTS, "awaitPromise": true, "returnByValue": true });
    let paints = devtools.order("Runtime.evaluate", paints).await?;
    let navigation_start_ns = navigation_start.since(epoch_ns);
    let painted = |name: &str| after(navigation_start_ns, &paints["result"]["value"][name]);
    let loaded = Record::PageLoad(PageLoadRecord {
        browser,
        navigation_start_ns,
        load_event_ns: load.load_event_ns.context("the page has no load event")?,
        first_contentful_paint_ns: painted("first"),
        largest_contentful_paint_ns: painted("largest"),
    });
    let records = load.into_records()?.into_iter().map(Record::Resource);
    Ok(records.chain([loaded]).collect())
}

/// Loads the page. Returns when the navigation was started, and the state of the load at its end.
async fn visit<'a>(devtools: &mut DevTools, page: &'a Page, epoch_ns: u64) -> Result<(Moment, Load<'a>)> {
    let origin = format!("https://{SERVER_NAME}:{PORT}");
    let path = &page.resources[0].path;
    let mut load = Load::new(page, origin.clone(), epoch_ns);
    let navigation_start = Moment::now();
    let navigated = devtools.order("Page.navigate", json!({ "url": format!("{origin}{path}") })).await?;
    if let Some(reason) = navigated["errorText"].as_str() {
        return Err(not_loaded(path, Some(reason)));
    }
    follow(devtools, &mut load).await?;
    Ok((navigation_start, load))
}

/// Navigates to an empty page, and waits until the idle connections of the previous page have been closed.
async fn leave(devtools: &mut DevTools) -> Result<()> {
    devtools.order("Page.navigate", json!({ "url": "about:blank" })).await?;
    let deadline = Deadline::new()?;
    let until_ns = Moment::now().since(0) + BETWEEN_VISITS_NS;
    loop {
        tokio::select! {
            biased;
            event = devtools.event() => drop(event?),
            reached = deadline.wait_until(Some(until_ns)) => return reached,
        }
    }
}

/// Adds events to the load until it is complete, or no more events arrive.
async fn follow(devtools: &mut DevTools, load: &mut Load<'_>) -> Result<()> {
    let deadline = Deadline::new()?;
    while !load.is_whole() {
        let is_over = load.load_event_ns.is_some() && load.is_idle();
        let quiet_at_ns = is_over.then(|| Moment::now().since(0) + QUIET_NS);
        tokio::select! {
            biased;
            event = devtools.event() => load.take(&event?)?,
            reached = deadline.wait_until(quiet_at_ns) => return reached,
        }
    }
    Ok(())
}

fn after(start_ns: u64, milliseconds: &Value) -> Option<u64> {
    milliseconds.as_f64().map(|offset_ms| start_ns + (offset_ms * 1e3).round() as u64 * 1000)
}
