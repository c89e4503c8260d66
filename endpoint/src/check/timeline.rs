//! What a timeline must satisfy, and the paths it happens to.

use std::fmt;

use super::Problems;
use crate::job::{Change, Direction, Event, Job, Reconnect, Trace, TransportKind};

/// What events have made of a path.
#[derive(Debug, Clone, Copy)]
struct State {
    out: bool,
    attached: bool,
}

impl State {
    /// Whether the change makes a difference. New delays and rates may happen to be the old ones.
    fn take(&mut self, change: &Change) -> bool {
        match change {
            Change::Outage {} => !std::mem::replace(&mut self.out, true),
            Change::Restore {} => std::mem::replace(&mut self.out, false),
            Change::Attach {} => !std::mem::replace(&mut self.attached, true),
            Change::Detach {} => std::mem::replace(&mut self.attached, false),
            Change::Delay { .. } | Change::Rate { .. } => true,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attached = if self.attached { "attached" } else { "not attached" };
        write!(formatter, "{} and {attached}", if self.out { "out" } else { "up" })
    }
}

impl Problems {
    /// A client that moves is on the first path at first; one that does not is on all.
    pub(super) fn check_roaming(&mut self, job: &Job) {
        let has_handovers = job.timeline.has_handovers();
        for (index, path) in job.paths.iter().enumerate() {
            self.require(path.attached == (index == 0 || !has_handovers), &format!("paths[{index}].attached"), || {
                if has_handovers {
                    format!(
                        "is {}, but a client that moves is on the first path at first, and on no other",
                        path.attached
                    )
                } else {
                    "is false, but the client never comes there".to_owned()
                }
            });
        }
        self.require(!(has_handovers && job.transport.sctp.multihomed), "transport.sctp.multihomed", || {
            "is true, but the server of a client that moves has one address".to_owned()
        });
        self.check_sctp_overlap(job);
    }

    /// An SCTP peer is told of a new address from one it knows, and the new one is used when it has agreed (RFC 5061, 5.3). Of a
    /// client that has lost its only address it can send from the new one, with the old one to be deleted, which a server of
    /// Linux 7.3 refuses (`sctp_process_asconf_param`: the old address stands for the association in that very chunk); the
    /// client then waits for ever. A round trip is the least that could do; the planner counts queues too.
    fn check_sctp_overlap(&mut self, job: &Job) {
        if job.transport.kind != TransportKind::Sctp || job.transport.reconnect != Reconnect::Migrate {
            return;
        }
        let mut attached_ns: Vec<Option<u64>> = job.paths.iter().map(|path| path.attached.then_some(0)).collect();
        for (index, Event { at_ns, path, change }) in job.timeline.events.iter().enumerate() {
            let Some(description) = job.paths.get(*path as usize) else { continue };
            match change {
                Change::Attach {} => attached_ns[*path as usize] = Some(*at_ns),
                Change::Detach {} => {
                    attached_ns[*path as usize] = None;
                    let round_trip_ns = description.down.delay_ns.saturating_add(description.up.delay_ns);
                    let goes_on = |since_ns: &u64| since_ns.saturating_add(round_trip_ns) <= *at_ns;
                    let known = attached_ns.iter().flatten().any(goes_on);
                    self.require(known, &format!("timeline[{index}].change"), || {
                        format!(
                            "leaves the association no address that its peer knows: it is told of a new one from an old \
                             one, which takes a round trip. Have the paths overlap by {} ms or more, or choose \
                             reconnect = \"new\"",
                            round_trip_ns.div_ceil(1_000_000)
                        )
                    });
                }
                _ => {}
            }
        }
    }

    /// Redraws and traces have steps, and change what is there to change.
    pub(super) fn check_generators(&mut self, job: &Job) {
        for (index, redraw) in job.timeline.redraws.iter().enumerate() {
            let at = format!("timeline.redraws[{index}]");
            self.require((redraw.path as usize) < job.paths.len(), &format!("{at}.path"), || {
                format!("is {}, but there are only {}", redraw.path, job.paths.len())
            });
            self.require(redraw.period_ns > 0, &format!("{at}.period_ns"), || "is 0".to_owned());
            // Six deviations beyond the mean.
            let longest_ns = redraw.deviation_ns.checked_mul(6).and_then(|tail| tail.checked_add(redraw.mean_ns));
            let fits = longest_ns.is_some_and(|longest_ns| i64::try_from(longest_ns).is_ok());
            self.require(fits, &at, || format!("gives delays beyond netem's {}", i64::MAX));
        }
        let traces = &job.timeline.traces;
        for (index, trace) in traces.iter().enumerate() {
            let at = format!("timeline.traces[{index}]");
            self.check_shaped(job, &at, trace.path, trace.direction);
            self.require(trace.step_ns > 0, &format!("{at}.step_ns"), || "is 0".to_owned());
            self.require(!trace.rates_bit_s.is_empty(), &format!("{at}.rates_bit_s"), || "is empty".to_owned());
            let same = |other: &&Trace| (other.path, other.direction) == (trace.path, trace.direction);
            self.require(traces.iter().filter(same).count() == 1, &at, || {
                "is one of several for the same direction".to_owned()
            });
        }
    }

    /// A rate changes only where a token bucket keeps it.
    fn check_shaped(&mut self, job: &Job, at: &str, path: u32, direction: Direction) {
        let Some(description) = job.paths.get(path as usize) else {
            return self.require(false, &format!("{at}.path"), || {
                format!("is {path}, but there are only {}", job.paths.len())
            });
        };
        let (key, direction) = match direction {
            Direction::Down => ("down", &description.down),
            Direction::Up => ("up", &description.up),
        };
        self.require(direction.shaper_queue_bytes.is_some(), at, || {
            format!("changes the rate of paths[{path}].{key}, which has no shaper_queue_bytes")
        });
    }

    /// In order of time; and no event that changes nothing.
    pub(super) fn check_timeline(&mut self, job: &Job) {
        let mut earlier_ns = 0;
        let mut states: Vec<State> =
            job.paths.iter().map(|path| State { out: false, attached: path.attached }).collect();
        for (index, event) in job.timeline.events.iter().enumerate() {
            let at = format!("timeline[{index}]");
            self.require(earlier_ns <= event.at_ns, &format!("{at}.at_ns"), || {
                format!("is {}, must not be earlier than the event before it", event.at_ns)
            });
            earlier_ns = event.at_ns;
            if let Change::Rate { direction, .. } = event.change {
                self.check_shaped(job, &at, event.path, direction);
                continue;
            }
            match states.get_mut(event.path as usize) {
                Some(state) => {
                    let before = *state;
                    self.require(state.take(&event.change), &format!("{at}.change"), || {
                        format!("does nothing: path {} is {before} then", event.path)
                    });
                }
                None => self.require(false, &format!("{at}.path"), || {
                    format!("is {}, but there are only {}", event.path, job.paths.len())
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problems;
    use super::super::tests::{event, golden_job, roaming};
    use super::*;
    use crate::job::SctpOptions;

    #[test]
    fn a_client_attaches_where_it_is_not_and_detaches_where_it_is() {
        let (attach, detach) = (Change::Attach {}, Change::Detach {});
        let there_and_back = [(1, attach.clone()), (0, detach.clone()), (0, attach.clone()), (1, detach.clone())];
        assert_eq!(problems(&roaming(&there_and_back)), Vec::<String>::new());
        let with_a_gap = [(0, detach.clone()), (1, Change::Outage {}), (1, attach.clone())];
        assert_eq!(problems(&roaming(&with_a_gap)), Vec::<String>::new());
        let nothing_new = [(0, attach), (1, detach)];
        let expected = [
            "timeline[0].change: does nothing: path 0 is up and attached then",
            "timeline[1].change: does nothing: path 1 is up and not attached then",
        ];
        assert_eq!(problems(&roaming(&nothing_new)), expected);
    }

    #[test]
    fn a_client_that_moves_has_two_paths_and_begins_on_the_first() {
        type Spoil = fn(&mut Job);
        let spoil: [(&str, Spoil); 4] = [
            ("paths: has 3 entries, a client moves between 2", |job| job.paths.push(job.paths[1].clone())),
            ("paths[0].attached: is false, but a client that moves", |job| {
                job.paths[0].attached = false;
                job.timeline.events.insert(0, event(0, 0, Change::Attach {}));
            }),
            ("transport.sctp.multihomed: is true, but", |job| job.transport.sctp.multihomed = true),
            ("paths[1].attached: is false, but the client never", |job| {
                job.timeline.events.clear();
                job.transport.kind = TransportKind::Mptcp;
            }),
        ];
        for (expected, spoil) in spoil {
            let mut job = roaming(&[(1, Change::Attach {}), (0, Change::Detach {})]);
            assert_eq!(problems(&job), Vec::<String>::new());
            spoil(&mut job);
            let found = problems(&job);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    /// The round trip of the path that is left is 50 ms.
    #[test]
    fn an_sctp_association_keeps_an_address_its_peer_knows() {
        let moved = |overlap_ms: u64| {
            let mut job = roaming(&[(1, Change::Attach {}), (0, Change::Detach {})]);
            job.timeline.events[1].at_ns = overlap_ms * 1_000_000;
            (job.transport.kind, job.transport.reconnect) = (TransportKind::Sctp, Reconnect::Migrate);
            job.transport.sctp = SctpOptions::usual();
            let halves = job.paths.iter_mut().flat_map(|path| [&mut path.down, &mut path.up]);
            halves.for_each(|half| half.delay_ns = 25_000_000);
            problems(&job)
        };
        assert_eq!(moved(50), Vec::<String>::new());
        let refused = moved(49);
        assert!(refused.len() == 1 && refused[0].contains("overlap by 50 ms or more"), "{refused:?}");
    }

    #[test]
    fn a_rate_changes_only_where_a_token_bucket_keeps_it() {
        let trace =
            |rates: &[u64]| Trace { path: 0, direction: Direction::Up, step_ns: 1, rates_bit_s: rates.to_vec() };
        let mut job = golden_job();
        job.timeline.traces = vec![trace(&[8])];
        job.timeline.events = vec![event(1, 0, Change::Rate { direction: Direction::Up, rate_bit_s: 0 })];
        let missing = "changes the rate of paths[0].up, which has no shaper_queue_bytes";
        assert_eq!(problems(&job), [format!("timeline[0]: {missing}"), format!("timeline.traces[0]: {missing}")]);
        job.paths[0].up.shaper_queue_bytes = Some(10_000);
        assert_eq!(problems(&job), Vec::<String>::new());
        job.timeline.traces = vec![trace(&[]), trace(&[8])];
        let found = problems(&job);
        assert_eq!(found[0], "timeline.traces[0].rates_bit_s: is empty");
        assert_eq!(found[1..].iter().filter(|problem| problem.contains("one of several")).count(), 2, "{found:?}");
    }
}
