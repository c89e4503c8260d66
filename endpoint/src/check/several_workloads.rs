//! Checks of jobs with several workloads.

use std::collections::BTreeSet;

use netwarp_transport::stack_of;
use netwarp_wire::job::Job;
use netwarp_wire::problems::Problems;
use serde_json::json;

/// Reports workloads of a job whose name or port is missing or not unique, and workloads that cannot share a run.
pub(super) fn check(job: &Job, problems: &mut Problems) {
    let is_shared = !job.has_programs() && !job.timeline.has_handovers();
    problems.require(is_shared, "workloads", || "are several, with programs or a client that moves".to_owned());
    // Not hash sets: their hashing would draw random numbers, on which the guest's records depend.
    let over_tcp: Vec<_> = job.workloads.iter().filter(|each| stack_of(each.transport.kind).uses_tcp()).collect();
    let bursts = over_tcp.iter().map(|each| each.transport.tcp.tso_packets);
    problems.require(bursts.collect::<BTreeSet<_>>().len() < 2, "transport.tcp.tso_packets", || {
        "differs between workloads, and is of all devices".to_owned()
    });
    let of_cubic = over_tcp.iter().filter(|each| each.transport.congestion == "cubic");
    let asked: BTreeSet<_> = of_cubic.map(|each| each.transport.tcp.hystart).collect();
    problems.require(asked.len() < 2, "transport.tcp.hystart", || {
        "differs between workloads, and is a parameter of the whole kernel".to_owned()
    });
    for (place, each) in job.workloads.iter().enumerate() {
        problems.require(each.name.is_some(), "name", || "is missing, where a run has several workloads".to_owned());
        let before = &job.workloads[..place];
        problems.require(before.iter().all(|other| other.name != each.name), "workloads", || {
            format!("has {} twice", json!(each.name))
        });
        let is_free = before.iter().all(|other| other.port != each.port);
        problems.require(each.port.is_some_and(|port| port > 0) && is_free, "port", || {
            format!("is {}, which is no port of its own", json!(each.port))
        });
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::golden;
    use netwarp_wire::job::{Change, Event, Exchange, Job};

    use crate::check;

    #[test]
    fn several_workloads_have_names_and_ports_of_their_own() {
        let several = |change: fn(&mut Job)| {
            let mut job = golden::job("bulk-tcp-impaired");
            let named = |(name, port): (&str, u16)| Exchange {
                name: Some(name.to_owned()),
                port: Some(port),
                ..job.only().clone()
            };
            job.workloads = [("a", 4433), ("b", 4434)].map(named).to_vec();
            change(&mut job);
            check::problems(&job)
        };
        assert_eq!(several(|_| {}), Vec::<String>::new());
        assert_eq!(
            several(|job| job.workloads[0].name = None),
            ["name: is missing, where a run has several workloads"]
        );
        assert_eq!(several(|job| job.workloads[1].name = Some("a".to_owned())), ["workloads: has \"a\" twice"]);
        assert_eq!(several(|job| job.workloads[1].port = Some(4433)), ["port: is 4433, which is no port of its own"]);
        assert_eq!(several(|job| job.workloads[0].name = Some("../a".to_owned())).len(), 1);
        let moving = several(|job| job.timeline.events = vec![Event { at_ns: 1, path: 0, change: Change::Detach {} }]);
        assert!(moving.iter().any(|problem| problem.starts_with("workloads: are several")), "{moving:?}");
    }
}
