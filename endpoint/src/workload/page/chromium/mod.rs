//! Chromium as the client of a page: started without a window, told to load it, and asked what it saw.

mod devtools;
mod load;

use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use self::devtools::DevTools;
use self::load::{Load, not_loaded};
use super::servers::{command, find};
use crate::clock::Moment;
use crate::control::Order;
use crate::deadline::Deadline;
use crate::job::{Http, Page, WebProgram};
use crate::record::{PageLoadRecord, Record, Side};
use crate::role::{Begin, Orchestrator};
use crate::transport::PORT;
use crate::transport::identity::{SERVER_NAME, key_fingerprint};
use crate::workload::RunPlace;
use crate::workload::command::Host;

/// What keeps Chromium to the page: no window, no sandbox of its own (it is root in a guest that has nothing else), one process,
/// nothing asked for in the background. What it draws is an application's window, which has no tabs: a tab has an animation while
/// its page loads, and drawing that was three quarters of the CPU time of a long load.
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

/// After its load event a browser may still ask for something, as scripts would have it: for so long of the run's clock.
const QUIET_NS: u64 = 2_000_000_000;

/// From one visit to the next, on the run's clock: QUIC's connections end when they were idle for half a minute (Chromium's and
/// quic-go's own limit), the servers' others after less ([`super::servers`]).
const BETWEEN_VISITS_NS: u64 = 40_000_000_000;

/// Asks what was shown when, two frames after all of the page has come. Times are milliseconds since the navigation.
const PAINTS: &str = r#"new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => {
    let largest = null;
    const observer = new PerformanceObserver(seen => { for (const each of seen.getEntries()) largest = each.startTime; });
    observer.observe({ type: "largest-contentful-paint", buffered: true });
    setTimeout(() => {
        const first = performance.getEntriesByName("first-contentful-paint")[0];
        resolve({ first: first ? first.startTime : null, largest });
    }, 20);
})))"#;

/// Has the browser load the page, and writes its records.
///
/// # Errors
/// A browser that does not start, or ends; a page that does not load as it is.
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
        // Only of hosts with such an origin it takes a certificate of unknown roots over QUIC: another port of the same host.
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

/// Loads the page, and gives when it was told to.
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

/// Goes to an empty page, until the connections of the page before are closed because nobody uses them.
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

/// Takes events up until all of the page has come, or nothing does any more.
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
