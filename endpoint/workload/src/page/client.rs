//! The client of `page`: loads a page as a browser does.
//!
//! Over HTTP/2 and HTTP/3, a resource is requested as soon as the resources before it in the page's graph allow it.
//! Over HTTP/1.1 a connection carries one request at a time: the most urgent request is sent first, and while requests
//! wait, further connections are opened up to the page's limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use netwarp_core::clock::Moment;
use netwarp_core::content_sink::Sink;
use netwarp_transport::error::{Context as _, Result, ensure};
use netwarp_transport::stack_of;
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::job::{Http, Page};
use netwarp_wire::record::{ConnectionRecord, Record, ResourceRecord, Side};
use tokio::task::{JoinHandle, JoinSet};

use super::exchange::{Exchange, Requester, Response, connect};
use super::graph::Graph;
use super::request::{ConnectionNumber, request};
use crate::{Run, Workload as _, connection_record};

/// Visits a page as often as the job says, and closes its connections after each visit. Returns the records of all
/// connections, and of the resources of the last visit.
///
/// # Errors
/// A resource does not arrive, or arrives with different content.
pub(super) async fn load(run: &Arc<Run>, page: &Page, dialer: &Arc<dyn Dialer>) -> Result<Vec<Record>> {
    let first = page.first_reached_by(&run.job);
    let first =
        first.map(|job| stack_of(job.only().transport.kind).dialer(&job, run.server.ip(), run.certificate.as_deref()));
    let first = first.transpose()?;
    let mut records = Vec::new();
    for visit in 0..page.visits {
        // After the first visit the client knows that the server offers HTTP/3.
        let first = first.as_ref().filter(|_| visit == 0);
        let mut client = Client::new(run, page, dialer, first, visit);
        client.load().await?;
        let is_last = visit + 1 == page.visits;
        let told = client.close().await?.into_iter();
        records.extend(told.filter(|record| is_last || matches!(record, Record::Connection(_))));
    }
    Ok(records)
}

struct Client<'a> {
    run: &'a Arc<Run>,
    page: &'a Page,
    dialer: &'a Arc<dyn Dialer>,
    /// The dialer (HTTP/2) for as long as the client does not know that the server offers HTTP/3; `None` afterwards.
    first_dialer: Option<&'a Arc<dyn Dialer>>,
    /// The index of the visit, starting at 0.
    visit: u32,
    graph: Graph<'a>,
    /// Resources that wait for a connection: urgency, index in the page, and the time since which each could be
    /// requested. The most urgent come first, then those with the lowest index.
    queue: BinaryHeap<Reverse<(u8, usize, u64)>>,
    dialing: JoinSet<Result<OpenConnection>>,
    connections: Vec<OpenConnection>,
    fetching: JoinSet<Result<Fetched>>,
    records: Vec<Record>,
}

struct OpenConnection {
    number: u32,
    http: Http,
    connection: Box<dyn Connection>,
    /// The sender of requests; `None` while it is busy, if it carries one request at a time.
    requester: Option<Requester>,
    /// The task that runs HTTP on the connection.
    speaking: JoinHandle<()>,
    requests: u32,
}

struct Fetched {
    /// The index of the connection that carried the request among the open ones.
    place: usize,
    /// The requester that fetched the resource, to be used for the next request.
    requester: Requester,
    record: ResourceRecord,
    advertises_http3: bool,
}

impl<'a> Client<'a> {
    fn new(
        run: &'a Arc<Run>,
        page: &'a Page,
        dialer: &'a Arc<dyn Dialer>,
        first_dialer: Option<&'a Arc<dyn Dialer>>,
        visit: u32,
    ) -> Self {
        Self {
            run,
            page,
            dialer,
            first_dialer,
            visit,
            graph: Graph::new(&page.resources),
            queue: BinaryHeap::new(),
            dialing: JoinSet::new(),
            connections: Vec::new(),
            fetching: JoinSet::new(),
            records: Vec::new(),
        }
    }

    async fn load(&mut self) -> Result<()> {
        self.want();
        while !self.graph.is_loaded() {
            let is_under_way = !self.fetching.is_empty() || !self.dialing.is_empty();
            ensure!(is_under_way, "resources of the page wait for each other: nothing is left to ask for");
            tokio::select! {
                biased;
                Some(fetched) = self.fetching.join_next() => {
                    let fetched = fetched.context("a task panicked")??;
                    self.fetched(fetched)?;
                }
                Some(dialled) = self.dialing.join_next() => {
                    self.connections.push(dialled.context("a task panicked")??);
                }
            }
            self.ask()?;
        }
        Ok(())
    }

    /// Closes the connections in order, including those without a request.
    async fn close(mut self) -> Result<Vec<Record>> {
        while let Some(dialled) = self.dialing.join_next().await {
            self.connections.push(dialled.context("a task panicked")??);
        }
        for OpenConnection { number, connection, .. } in &self.connections {
            let record = connection_record(self.run, Side::Client, &**connection, false)?;
            let record = record.map(|record| ConnectionRecord { connection: *number, transfer: self.visit, ..record });
            self.records.extend(record.map(Record::Connection));
        }
        for OpenConnection { connection, requester, speaking, .. } in self.connections {
            drop(requester);
            speaking.await.context("a task panicked")?;
            connection.close().await?;
        }
        Ok(self.records)
    }

    /// Queues the resources that can be requested now, and opens connections for them.
    fn want(&mut self) {
        let now_ns = Moment::now().since(self.run.epoch_ns);
        let mut wanted = self.graph.take_wanted();
        while let Some(index) = wanted.pop() {
            if self.visit == 0 || self.page.is_fetched(index) {
                self.queue.push(Reverse((self.page.resources[index].urgency, index, now_ns)));
            } else {
                // The resource is in the cache: what it refers to can be requested at once.
                self.graph.arrived(index);
                wanted.extend(self.graph.take_wanted());
            }
        }
        let most = if self.page.http == Http::H1 { self.page.connections as usize } else { 1 };
        let opened = self.connections.len() + self.dialing.len();
        let idle = self.connections.iter().filter(|each| each.requester.is_some()).count();
        let lacking = self.queue.len().saturating_sub(idle + self.dialing.len());
        for number in (opened..most).take(lacking) {
            self.dial(number as u32);
        }
    }

    /// Opens a connection: over HTTP/2 while the client does not know that the server offers HTTP/3.
    fn dial(&mut self, number: u32) {
        let (dialer, http) = self.first_dialer.map_or((self.dialer, self.page.http), |first| (first, Http::H2));
        let (dialer, run) = (dialer.clone(), self.run.clone());
        self.dialing.spawn(async move {
            let mut connection = dialer.dial(run.server, false).await?;
            let (requester, speaking) =
                connect(http, connection.carrier()?, run.job.only().transport.buffer_bytes).await?;
            Ok(OpenConnection { number, http, connection, requester: Some(requester), speaking, requests: 0 })
        });
    }

    /// Sends waiting requests while connections are free for them.
    fn ask(&mut self) -> Result<()> {
        let idle = |connection: &OpenConnection| connection.requester.is_some();
        // Of two versions of HTTP, the newer one, dialled last, is used for all further requests.
        while let (false, Some(place)) = (self.queue.is_empty(), self.place_of(idle)) {
            let Some(Reverse((_, index, fetch_start_ns))) = self.queue.pop() else { break };
            let connection = &mut self.connections[place];
            let of_request = (index as u32, connection.number, connection.requests);
            connection.requests += 1;
            let resource = &self.page.resources[index];
            let number = ConnectionNumber { visit: self.visit, connection: connection.number };
            let request =
                request(connection.http, self.run.job.only().transport.kind, resource, number, self.run.token)?;
            let sink = Sink::new(resource.body_bytes, self.page.verify);
            let sink = sink.watching_arrivals(self.run.watched_arrivals());
            let mut requester = connection.requester.take().context("the connection is busy")?;
            // A connection that can carry several requests at a time is not busy.
            connection.requester = requester.another();
            let exchange = Exchange { request, sink };
            let (run, http) = (self.run.clone(), connection.http);
            let (status, path) = (resource.status, resource.path.clone());
            self.fetching.spawn(async move {
                let response = requester.exchange(exchange).await.with_context(|| format!("loading {path}"))?;
                ensure!(response.status == status, "{path} was answered with {}, not {status}", response.status);
                let advertises_http3 = response.advertises_http3;
                let record = record(&run, http, of_request, fetch_start_ns, response)
                    .with_context(|| format!("loading {path}"))?;
                Ok(Fetched { place, requester, record, advertises_http3 })
            });
        }
        Ok(())
    }

    /// Returns the index of an open connection that satisfies `is_idle`.
    fn place_of(&self, is_idle: impl Fn(&OpenConnection) -> bool) -> Option<usize> {
        if self.page.discovers_http3 {
            self.connections.iter().rposition(is_idle)
        } else {
            self.connections.iter().position(is_idle)
        }
    }

    fn fetched(&mut self, Fetched { place, requester, record, advertises_http3 }: Fetched) -> Result<()> {
        if advertises_http3 && self.first_dialer.take().is_some() {
            self.dial(1);
        }
        let connection = &mut self.connections[place];
        connection.requester.get_or_insert(requester);
        self.graph.arrived(record.resource as usize);
        self.records.push(Record::Resource(record));
        self.want();
        Ok(())
    }
}

fn record(
    run: &Run,
    http: Http,
    (resource, connection, request): (u32, u32, u32),
    fetch_start_ns: u64,
    response: Response,
) -> Result<ResourceRecord> {
    let Response { status, request_start, response_start, response_end, sink, .. } = response;
    let received = sink.received()?;
    let [request_start_ns, response_start_ns, response_end_ns] =
        [request_start, response_start, response_end].map(|moment| moment.since(run.epoch_ns));
    Ok(ResourceRecord {
        resource,
        connection,
        request,
        http,
        status,
        bytes: sink.position_bytes(),
        fetch_start_ns,
        request_start_ns,
        response_start_ns,
        response_end_ns,
        sha256: received.sha256,
    })
}
