use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use netwarp_path::network::Network;
use netwarp_wire::golden;
use netwarp_wire::record::Side;

use super::host::Part;
use super::running_role::Role;
use super::*;

#[test]
fn a_run_whose_paths_change_without_end_is_refused_with_what_to_change() {
    check_number_of_events(MOST_EVENTS).unwrap();
    let failure = check_number_of_events(MOST_EVENTS + 1).unwrap_err();
    assert!(failure.message.contains("choose a longer path.redraw.period"), "{}", failure.message);
}

/// A host that has no path. Its roles are simulated in this process: each sends the events of its script and ends.
struct Scripted {
    server: Vec<Event>,
    client: Vec<Event>,
    orders: Rc<RefCell<Vec<(Side, Order)>>>,
}

struct ScriptedRole {
    side: Side,
    script: VecDeque<Event>,
    orders: Rc<RefCell<Vec<(Side, Order)>>>,
    /// A pipe that is always readable, because its other end is closed.
    readable: OwnedFd,
}

impl Host for Scripted {
    fn clock(&self) -> ClockKind {
        ClockKind::Real
    }

    fn prepare(&mut self, _job: &Job) -> Result<()> {
        Ok(())
    }

    fn build(&mut self, _job: &Job) -> Result<()> {
        Ok(())
    }

    fn network(&mut self) -> Option<&mut Network> {
        None
    }

    fn spawn(&mut self, part: Part<'_>, _job: &Job, _job_file: &Path, _shared: Shared<'_>) -> Result<Box<dyn Role>> {
        let side = part.side;
        let script = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let (script, orders) = (std::mem::take(script).into(), self.orders.clone());
        Ok(Box::new(ScriptedRole { side, script, orders, readable: nix::unistd::pipe()?.0 }))
    }
}

impl AsFd for ScriptedRole {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

impl Role for ScriptedRole {
    fn is_running(&self) -> bool {
        !self.script.is_empty()
    }

    fn order(&mut self, order: &Order) -> Result<()> {
        self.orders.borrow_mut().push((self.side, order.clone()));
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<Event>> {
        Ok(self.script.pop_front().into_iter().collect())
    }

    fn stop(&mut self) {
        self.script.clear();
    }
}

/// Runs the golden job, after `change`, on a [`Scripted`] host. Returns the orders that roles received, and how the run
/// failed.
fn run_scripted(client: Vec<Event>, change: impl FnOnce(&mut Job)) -> (Vec<(Side, Order)>, Failure) {
    let mut job = golden::job("bulk-quic");
    job.timeline = netwarp_wire::job::Timeline { events: Vec::new(), redraws: Vec::new(), traces: Vec::new() };
    change(&mut job);
    // Tests run at the same time, in one process.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("netwarp-orchestrate-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut records = RecordWriter::open(&directory).unwrap();
    let server =
        vec![Event::Said(Message::Ready { certificate: None }), Event::Said(Message::Done {}), Event::Gone(None)];
    let orders = Rc::default();
    let mut host = Scripted { server, client, orders: Rc::clone(&orders) };
    let failure = run(&job, &directory.join("job.json"), &mut host, &mut records).expect_err("nothing was delivered");
    std::fs::remove_dir_all(&directory).unwrap();
    (orders.take(), failure)
}

#[test]
fn roles_may_be_anywhere_and_are_told_when_to_begin_and_to_finish() {
    let (orders, failure) = run_scripted(vec![Event::Said(Message::Done {}), Event::Gone(None)], |_| {});
    let message: Vec<_> = orders.iter().map(|(side, order)| (*side, std::mem::discriminant(order))).collect();
    let begin = std::mem::discriminant(&Order::Begin { epoch_ns: 0, certificate: None, token: None });
    let finish = std::mem::discriminant(&Order::Finish {});
    assert_eq!(message, [(Side::Server, begin), (Side::Client, begin), (Side::Server, finish)]);
    assert_eq!(failure.stage, "verify");
}

#[test]
fn a_role_that_goes_without_a_word_fails_the_run() {
    let (_, failure) = run_scripted(vec![Event::Gone(Some("was killed by SIGKILL".to_owned()))], |_| {});
    assert_eq!((failure.stage.as_str(), failure.message.as_str()), ("client", "the client was killed by SIGKILL"));
}

#[test]
fn a_role_of_a_further_program_that_goes_is_told_by_its_host_and_command() {
    let job = golden::job("command-network");
    let path = Path::new("job.json");
    let mut host = Scripted { server: Vec::new(), client: Vec::new(), orders: Rc::default() };
    let pair = Pair::spawn(&mut host, &job, |_| path, |_| Shared::default()).unwrap();
    let gone = |player| pair.role_is_gone(player, Some("was killed by SIGKILL".to_owned())).unwrap_err().message;
    assert_eq!(gone(Player::Server(0)), "get: the server was killed by SIGKILL");
    let further = "get: the role of the program of proxy (/bin/sh -c relay server 80) was killed by SIGKILL";
    assert_eq!(gone(Player::Server(1)), further);
    assert_eq!(gone(Player::Client), "get: the client was killed by SIGKILL");
}

#[test]
fn a_path_that_is_there_already_cannot_be_captured() {
    let (orders, failure) = run_scripted(Vec::new(), |job| (job.capture, job.run) = (true, "captured".to_owned()));
    assert!(orders.is_empty() && failure.message.contains("not this run's to change"), "{failure:?}");
}

#[test]
fn a_client_begins_no_earlier_than_it_is_to() {
    let began = |start_ns, name: &str| {
        let client = vec![Event::Said(Message::Done {}), Event::Gone(None)];
        let (orders, _) = run_scripted(client, |job| (job.only_mut().start_ns, job.run) = (start_ns, name.to_owned()));
        orders.iter().any(|(side, order)| *side == Side::Client && matches!(order, Order::Begin { .. }))
    };
    assert!(began(0, "at-once"));
    assert!(began(1, "soon"));
    assert!(!began(u64::MAX, "never"));
}
