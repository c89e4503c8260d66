//! `rr`: requests, each sent when it is due, and their responses, over one stream that is used in both directions at
//! the same time.
//!
//! The client sends requests whether or not earlier ones are answered. The time of a response counts from when its
//! request was due. Where requests or responses may be lost, the client waits for the last response for as long as both
//! directions may take, and the server answers until the client is done.
//!
//! Where hosts outside the run could reach the server, each request has the run's token instead of its sending time,
//! which is not read, and the server answers no request without the token.

use std::sync::Arc;

use async_trait::async_trait;
use netwarp_core::clock::Moment;
use netwarp_core::deadline::Deadline;
use netwarp_core::flow::{HEADER_BYTES, MessageSink, Pacer, SENT_PLACE, Schedule};
use netwarp_transport::error::{Context as _, Result, ensure};
use netwarp_transport::stack_of;
use netwarp_transport::{Connection, Dialer, Duplex, received_now};
use netwarp_wire::job::{Job, Rr};
use netwarp_wire::record::{Record, Side};
use netwarp_wire::request_prefix::RequestPrefix;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::flow::drain;
use super::{End, Finish, Moves, OverConnections, Run, Workload, connection_record, unless_finished};

/// The most responses per request, on average, if requests are datagrams: a path may duplicate every request.
const MOST_ANSWERS: u64 = 2;

impl Workload for Rr {
    fn end(&self, _job: &Job, _side: Side) -> End<'_> {
        End::Connections(self)
    }

    fn content_bytes(&self) -> u64 {
        let (requests, _) = Schedule::of(&self.requests()).extent();
        requests.saturating_mul(u64::from(self.request_bytes) + u64::from(self.response_bytes))
    }

    fn messages(&self) -> u64 {
        let (requests, _) = Schedule::of(&self.requests()).extent();
        requests.saturating_mul(2)
    }
}

#[async_trait]
impl OverConnections for Rr {
    async fn drive(&self, run: &Arc<Run>, dialer: &Arc<dyn Dialer>, _handovers: Moves) -> Result<Vec<Record>> {
        let mut connection = dialer.dial(run.server, false).await?;
        let (pacer, responses) = ask(self, run, connection.duplex(Side::Client).await?).await?;
        let about = connection_record(run, Side::Client, &*connection, false)?.map(Record::Connection);
        let sent = Record::FlowSent(pacer.record(Side::Client));
        connection.close().await?;
        Ok(about.into_iter().chain([sent, responses.into_responses()]).collect())
    }

    async fn serve(
        &self,
        run: &Arc<Run>,
        mut connection: Box<dyn Connection>,
        mut finish: Finish,
    ) -> Result<Vec<Record>> {
        let stream = connection.duplex(Side::Server).await?;
        let (requests, _) = Schedule::of(&self.requests()).extent();
        let answering = answer(self, requests, run.token, loses_messages(run), stream);
        unless_finished(&mut finish, answering).await?;
        // The record is taken now: an SCTP association has no state left once its peer has shut it down.
        let about = connection_record(run, Side::Server, &*connection, false)?.map(Record::Connection);
        unless_finished(&mut finish, connection.closed()).await?;
        Ok(about.into_iter().collect())
    }
}

fn loses_messages(run: &Run) -> bool {
    stack_of(run.job.only().transport.kind).has_message_packets()
}

/// Carries out the client's part. Returns the requests that were sent and the responses that arrived, as pacer and
/// sink.
async fn ask(rr: &Rr, run: &Run, stream: Box<dyn Duplex>) -> Result<(Pacer, MessageSink)> {
    let requests = rr.requests();
    let (mut pacer, mut responses) =
        (Pacer::of(&requests, run.epoch_ns), MessageSink::of(&rr.responses(), run.epoch_ns, None));
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (_, last_due_ns) = Schedule::of(&requests).extent();
    let waits_ns = u64::try_from(2 * drain(&run.job).as_nanos()).unwrap_or(u64::MAX);
    let until_ns = loses_messages(run).then(|| Moment::now().since(0) + last_due_ns + waits_ns);
    let late = Deadline::new()?;
    let receiving = async {
        tokio::select! {
            received = receive(&mut responses, &mut reader) => received,
            waited = late.wait_until(until_ns) => waited.map_err(Into::into),
        }
    };
    tokio::try_join!(send(&mut pacer, run.token, &mut writer), receiving)?;
    writer.shutdown().await.context("ending the requests")?;
    Ok((pacer, responses))
}

async fn send(pacer: &mut Pacer, token: Option<RequestPrefix>, writer: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    let deadline = Deadline::new()?;
    let mut request = Vec::new();
    while let Some(due_ns) = pacer.next_due_ns() {
        if due_ns > Moment::now().since(0) {
            deadline.wait_until(Some(due_ns)).await?;
        }
        while let Some(due) = pacer.due_message(Moment::now().since(0)) {
            request.clear();
            request.extend_from_slice(due);
            if let Some(token) = token {
                request[SENT_PLACE].copy_from_slice(&token.0);
            }
            writer.write_all(&request).await.context("sending a request")?;
        }
        writer.flush().await.context("sending a request")?;
    }
    Ok(())
}

async fn receive(responses: &mut MessageSink, reader: &mut (impl AsyncRead + Unpin)) -> Result<()> {
    let mut response = vec![0; responses.message_bytes()];
    while !responses.is_complete() {
        reader.read_exact(&mut response).await.context("receiving a response")?;
        responses.arrived(received_now(&response)?);
    }
    Ok(())
}

/// Carries out the server's part: answers `requests` requests, then returns. A response begins with its request's
/// header.
///
/// # Arguments
/// * `loses` - whether messages are datagrams, which may be lost or duplicated: then requests without the run's token
///   are ignored, and up to twice as many requests are answered.
///
/// # Errors
/// A request does not have the run's token, and messages are not datagrams.
async fn answer(
    rr: &Rr,
    requests: u64,
    token: Option<RequestPrefix>,
    loses: bool,
    stream: Box<dyn Duplex>,
) -> Result<()> {
    let (mut request, mut response) = (vec![0; rr.request_bytes.into()], vec![0; rr.response_bytes.into()]);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut left = if loses { requests.saturating_mul(MOST_ANSWERS) } else { requests };
    while left > 0 {
        reader.read_exact(&mut request).await.context("receiving a request")?;
        if !token.is_none_or(|token| token.is(&request[SENT_PLACE])) {
            ensure!(loses, "who sends the request is a stranger");
            continue;
        }
        response[..HEADER_BYTES].copy_from_slice(&request[..HEADER_BYTES]);
        writer.write_all(&response).await.context("sending a response")?;
        writer.flush().await.context("sending a response")?;
        left -= 1;
    }
    writer.shutdown().await.context("ending the responses")
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::Arrivals;

    use super::*;

    fn rr(messages: u64) -> Rr {
        let arrivals = Arrivals::Constant { interval_ns: 1_000_000 };
        Rr { seed: 0, request_bytes: 40, response_bytes: 100, arrivals, messages: Some(messages), duration_ns: None }
    }

    #[tokio::test]
    async fn each_request_is_answered_with_its_own_number() {
        let rr = rr(20);
        let (client, server) = tokio::io::duplex(64);
        let (mut pacer, mut responses) = (Pacer::of(&rr.requests(), 0), MessageSink::of(&rr.responses(), 0, None));
        let (mut reader, mut writer) = tokio::io::split(client);
        let asking = async {
            tokio::try_join!(send(&mut pacer, None, &mut writer), receive(&mut responses, &mut reader)).map(drop)
        };
        tokio::try_join!(asking, answer(&rr, 20, None, false, Box::new(server))).unwrap();
        let Record::FlowStats(stats) = responses.into_responses() else { panic!("responses are summed up") };
        assert_eq!((stats.received, stats.received_bytes, stats.duplicates), (20, 2_000, Some(0)));
    }

    /// The server does not answer for 50 ms: the response times include the time that requests waited.
    #[tokio::test]
    async fn what_waits_for_a_late_response_counts_from_when_it_was_due() {
        let rr = rr(40);
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let (mut pacer, mut responses) = (Pacer::of(&rr.requests(), 0), MessageSink::of(&rr.responses(), 0, None));
        let (mut reader, mut writer) = tokio::io::split(client);
        let late = Deadline::new().unwrap();
        let until_ns = Moment::now().since(0) + 50_000_000;
        let answering = async {
            server.read_exact(&mut [0; 1]).await.unwrap();
            late.wait_until(Some(until_ns)).await.unwrap();
            let mut rest = vec![0; 39];
            server.read_exact(&mut rest).await.unwrap();
            let mut response = vec![0; 100];
            response[1..HEADER_BYTES].copy_from_slice(&rest[..HEADER_BYTES - 1]);
            server.write_all(&response).await.unwrap();
            answer(&rr, 39, None, false, Box::new(server)).await
        };
        let asking = async {
            tokio::try_join!(send(&mut pacer, None, &mut writer), receive(&mut responses, &mut reader)).map(drop)
        };
        tokio::try_join!(asking, answering).unwrap();
        let Record::FlowStats(stats) = responses.into_responses() else { panic!("responses are summed up") };
        // Request i is due at i ms and answered at 50 ms or later.
        let least_ns: u64 = (0..40).map(|number| 50_000_000 - number * 1_000_000).sum::<u64>() - 40_000_000;
        assert!(stats.delay_sum_ns >= least_ns, "{}", stats.delay_sum_ns);
    }

    /// Returns the server's answers to requests of 40 bytes with these tokens and zeros.
    async fn answers(tokens: &[&[u8; 8]], loses: bool) -> (Result<()>, Vec<u8>) {
        let rr = rr(2);
        let (mut client, server) = tokio::io::duplex(1 << 16);
        for token in tokens {
            let mut request = [0; 40];
            request[SENT_PLACE].copy_from_slice(*token);
            client.write_all(&request).await.unwrap();
        }
        client.shutdown().await.unwrap();
        let answered = answer(&rr, 2, Some(RequestPrefix(*b"12345678")), loses, Box::new(server)).await;
        let mut said = Vec::new();
        client.read_to_end(&mut said).await.unwrap();
        (answered, said)
    }

    #[tokio::test]
    async fn who_does_not_know_the_token_is_not_answered() {
        let (ours, theirs) = (b"12345678", b"12345679");
        let (answered, said) = answers(&[ours, ours], false).await;
        assert!(answered.is_ok());
        assert_eq!(said.len(), 200);
        let (answered, said) = answers(&[theirs, ours], false).await;
        assert!(answered.unwrap_err().to_string().contains("a stranger"));
        assert_eq!(said.len(), 0);
        let (_, said) = answers(&[theirs, ours, theirs, ours, theirs], true).await;
        assert_eq!(said.len(), 200, "among datagrams, a stranger's are passed over");
    }

    #[tokio::test]
    async fn however_many_requests_come_a_server_answers_a_bounded_number() {
        let ours = b"12345678";
        for (loses, most) in [(false, 2), (true, 4)] {
            let (answered, said) = answers(&[ours; 9], loses).await;
            assert!(answered.is_ok());
            assert_eq!(said.len(), 100 * most);
        }
    }

    #[tokio::test]
    async fn requests_have_the_token() {
        let token = RequestPrefix(*b"12345678");
        let mut sent = Vec::new();
        send(&mut Pacer::of(&rr(2).requests(), 0), Some(token), &mut sent).await.unwrap();
        assert_eq!(sent.len(), 80);
        assert!(sent.chunks(40).all(|request| token.is(&request[SENT_PLACE])));
    }
}
