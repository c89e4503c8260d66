//! `page`: a web page, loaded by one client from one server, over HTTP.
//!
//! [`graph`], [`priority`] and [`site`] make decisions and have no connections; [`client`] and [`server`] carry them
//! out, using [`exchange`] and [`response`] for all versions of HTTP.

mod chromium;
mod client;
mod exchange;
mod file_names;
mod graph;
mod http3;
mod markup;
mod priority;
mod request;
mod response;
mod server;
mod servers;
mod site;
mod verify;
mod www;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use netwarp_core::orchestrator::Orchestrator;
use netwarp_transport::error::Result;
use netwarp_transport::identity::{Identity, SERVER_NAME};
use netwarp_transport::{Connection, Dialer};
use netwarp_wire::job::{self, Job};
use netwarp_wire::problems::Problems;
use netwarp_wire::record::{Record, Side};

use super::{ByProgram, End, Finish, Moves, OverConnections, Run, RunPlace, Sandbox, Workload, command};

/// The most bytes that browsers and servers may write to files, in addition to the page.
const WRITTEN_BYTES: u64 = 1 << 30;

/// The largest window of HTTP/2 (RFC 9113, section 6.9.1).
const LARGEST_WINDOW_BYTES: u64 = (1 << 31) - 1;

#[async_trait]
impl OverConnections for job::Page {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, _handovers: Moves) -> Result<Vec<Record>> {
        client::load(run, self, dialer).await
    }

    async fn serve(&self, run: &Arc<Run>, connection: Box<dyn Connection>, finish: Finish) -> Result<Vec<Record>> {
        server::serve(run, self, connection, finish).await
    }
}

#[async_trait(?Send)]
impl ByProgram for job::Page {
    async fn serve(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()> {
        let program = self.server.as_ref().context("the page is served by no program")?;
        let identity = Identity::generate_for_programs()?;
        let command = servers::prepare(program, self, &identity)?;
        command::serve(orchestrator, &command, run, Some(hex::encode(identity.certificate()))).await
    }

    async fn drive(&self, orchestrator: &mut Orchestrator, run: RunPlace<'_>) -> anyhow::Result<()> {
        let program = self.client.as_ref().context("the page is loaded by no program")?;
        chromium::drive(orchestrator, self, program, run).await
    }
}

impl Workload for job::Page {
    fn end(&self, _job: &Job, side: Side) -> End<'_> {
        let program = if side == Side::Client { &self.client } else { &self.server };
        if program.is_some() { End::Program(self) } else { End::Connections(self) }
    }

    fn sandbox<'a>(&'a self, _job: &'a Job) -> Option<Sandbox<'a>> {
        let working_directory = Path::new("/tmp");
        let written_bytes = WRITTEN_BYTES + 2 * self.content_bytes();
        let server_names = &[SERVER_NAME];
        // Browser and server both get the page's files from netwarp, and exchange everything else over connections.
        let is_shared = true;
        self.has_programs().then_some(Sandbox {
            working_directory,
            is_shared,
            keep: false,
            written_bytes,
            server_names,
        })
    }

    fn fill_sandbox(&self, _job: &Job) -> anyhow::Result<()> {
        www::write(self)
    }

    fn files(&self) -> Vec<&Path> {
        self.resources.iter().filter_map(|resource| resource.file.as_deref().map(Path::new)).collect()
    }

    /// Returns the job over HTTP/2 if clients must first learn that the server offers HTTP/3; otherwise `None`.
    fn first_reached_by(&self, job: &Job) -> Option<Job> {
        self.discovers_http3.then(|| over_http2(job, self))
    }

    fn is_delivery(&self, record: &Record) -> bool {
        matches!(record, Record::Resource(_))
    }

    fn difference(&self, _job: &Job, deliveries: &[Record]) -> anyhow::Result<Option<String>> {
        verify::difference(deliveries, self)
    }

    /// Reports resources that wait for later ones, and so perhaps for themselves, and sizes whose sum exceeds 64 bits.
    fn check(&self, _job: &Job, problems: &mut Problems) {
        for (index, resource) in self.resources.iter().enumerate() {
            let mut before = resource.initiator.iter().chain(&resource.blocked_by);
            problems.require(before.all(|before| (*before as usize) < index), "workload.resources", || {
                format!("has {} wait for what does not stand before it", resource.path)
            });
        }
        let size = self.resources.iter().try_fold(0_u64, |sum, resource| sum.checked_add(resource.body_bytes));
        problems.require(size.is_some(), "workload.resources", || "have more bytes than 64 bits count".to_owned());
    }

    fn content_bytes(&self) -> u64 {
        self.resources.iter().fold(0, |sum, resource| u64::saturating_add(sum, resource.body_bytes))
    }
}

/// Returns the job with HTTP/2 over TLS instead of HTTP/3.
fn over_http2(job: &Job, page: &job::Page) -> Job {
    let mut job = job.clone();
    job.only_mut().transport.kind = job::TransportKind::Tls;
    job.only_mut().workload = job::Workload::Page(job::Page { http: job::Http::H2, ..page.clone() });
    job
}

/// Returns the size of a flow-control window of HTTP/2 for a buffer of this many bytes, at most the largest that is
/// allowed.
fn window(bytes: u64) -> u32 {
    bytes.min(LARGEST_WINDOW_BYTES) as u32
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::Page;
    use netwarp_wire::problems::Problems;

    use crate::Workload as _;

    #[test]
    fn resources_that_wait_for_each_other_are_refused() {
        type Spoil = fn(&mut Page);
        let spoil: [(&str, Spoil); 4] = [
            ("has / wait for what", |page| page.resources[0].initiator = Some(0)),
            ("has /style.css wait for what", |page| page.resources[1].initiator = Some(2)),
            ("has /old.js wait for what", |page| page.resources[2].blocked_by = vec![99]),
            ("have more bytes than", |page| page.resources[3].body_bytes = u64::MAX),
        ];
        for (expected, spoil) in spoil {
            let mut page = golden::page("page-tls");
            spoil(&mut page);
            let mut problems = Problems::default();
            page.check(&golden::job("page-tls"), &mut problems);
            let found = problems.into_list();
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }
}
