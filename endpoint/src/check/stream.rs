//! What a job's stream must satisfy for its player to come to an end.

use super::Problems;
use crate::job::{Rule, Stream};

impl Problems {
    pub(super) fn check_stream(&mut self, stream: &Stream) {
        self.require(stream.segments >= 1, "workload.segments", || "is 0".to_owned());
        self.require(stream.segment_ns >= 1, "workload.segment_ns", || "is 0".to_owned());
        self.require(stream.watch_ns >= 1, "workload.watch_ns", || "is 0".to_owned());
        self.check_share("workload.seek_ratio".to_owned(), stream.seek_ratio);
        self.check_qualities(stream);
        self.check_buffer(stream);
        self.check_rule(stream);
    }

    fn check_qualities(&mut self, stream: &Stream) {
        let sizes: Vec<u64> = stream.qualities.iter().map(|quality| quality.segment_bytes).collect();
        self.require(!sizes.is_empty(), "workload.qualities", || "is empty".to_owned());
        let ascends = sizes.first() != Some(&0) && sizes.windows(2).all(|pair| pair[0] < pair[1]);
        self.require(ascends, "workload.qualities", || {
            format!("has segments of {sizes:?} bytes, which must be more than none and ascend")
        });
        let medium_bytes: u128 = sizes.iter().map(|bytes| u128::from(*bytes) * u128::from(stream.segments)).sum();
        self.require(u64::try_from(medium_bytes).is_ok(), "workload.qualities", || {
            format!("make a medium of {medium_bytes} bytes, more than 64 bits count")
        });
    }

    /// Only whole segments are in a buffer that does not play.
    fn check_buffer(&mut self, stream: &Stream) {
        let Stream { segment_ns, start_buffer_ns, buffer_ns, .. } = *stream;
        self.require(buffer_ns >= segment_ns, "workload.buffer_ns", || {
            format!("is {buffer_ns}, in which no segment of {segment_ns} fits")
        });
        let whole_ns = buffer_ns.checked_div(segment_ns).unwrap_or(0) * segment_ns;
        self.require(start_buffer_ns <= whole_ns || buffer_ns < segment_ns, "workload.start_buffer_ns", || {
            format!("is {start_buffer_ns}, but the whole segments that fit in the buffer are {whole_ns}")
        });
        let end_ns = stream.watch_ns.checked_add(buffer_ns).and_then(|sum_ns| sum_ns.checked_add(segment_ns));
        self.require(end_ns.is_some(), "workload.watch_ns", || "is beyond what 64 bits count".to_owned());
    }

    fn check_rule(&mut self, stream: &Stream) {
        let qualities = stream.qualities.len();
        match &stream.rule {
            Rule::Delay { bounds_ns } => {
                self.require(bounds_ns.len() + 1 == qualities, "workload.rule.bounds_ns", || {
                    format!("has {} entries, must have one fewer than the {qualities} qualities", bounds_ns.len())
                });
                self.require(bounds_ns.windows(2).all(|pair| pair[0] < pair[1]), "workload.rule.bounds_ns", || {
                    format!("is {bounds_ns:?}, must ascend")
                });
            }
            Rule::Throughput { safety_ratio, window } => {
                self.check_share("workload.rule.safety_ratio".to_owned(), *safety_ratio);
                self.require(*safety_ratio != 0.0, "workload.rule.safety_ratio", || {
                    "is 0, with which no throughput suffices".to_owned()
                });
                self.require(*window >= 1, "workload.rule.window", || "is 0".to_owned());
            }
            Rule::Bola {} => {
                self.require(qualities >= 2, "workload.rule", || {
                    "is bola, which chooses between two qualities or more".to_owned()
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::problems;
    use crate::job::{Job, Reconnect, Rule, Stream, Timeline, Workload};

    /// The golden one, at rest.
    fn job() -> Job {
        let text = include_str!("../../../tests/golden/job-stream-roaming.json");
        let mut job: Job = serde_json::from_str(text).expect("the golden job is a job");
        job.paths.truncate(1);
        job.paths[0].down.shaper_queue_bytes = None;
        job.transport.reconnect = Reconnect::New;
        job.timeline = Timeline::default();
        job
    }

    #[test]
    fn the_golden_stream_is_sound() {
        assert_eq!(problems(&job()), Vec::<String>::new());
    }

    #[test]
    fn every_problem_names_its_key() {
        type Spoil = fn(&mut Stream);
        let spoil: [(&str, Spoil); 18] = [
            ("segments", |stream| stream.segments = 0),
            ("watch_ns", |stream| stream.watch_ns = 0),
            ("watch_ns", |stream| stream.watch_ns = u64::MAX),
            ("seek_ratio", |stream| stream.seek_ratio = 1.5),
            ("qualities", |stream| stream.qualities[0].segment_bytes = 0),
            ("qualities", |stream| stream.qualities.swap(0, 1)),
            ("qualities", |stream| stream.qualities[1].segment_bytes = 4_000_000),
            ("qualities", |stream| stream.qualities[2].segment_bytes = u64::MAX / 600),
            ("buffer_ns", |stream| stream.buffer_ns = 999_999_999),
            ("start_buffer_ns", |stream| stream.start_buffer_ns = 10_000_000_001),
            ("start_buffer_ns", |stream| (stream.buffer_ns, stream.start_buffer_ns) = (1_900_000_000, 1_500_000_000)),
            ("rule.bounds_ns", |stream| stream.rule = Rule::Delay { bounds_ns: vec![1] }),
            ("rule.bounds_ns", |stream| stream.rule = Rule::Delay { bounds_ns: vec![1, 2, 3] }),
            ("rule.bounds_ns", |stream| stream.rule = Rule::Delay { bounds_ns: vec![2, 1] }),
            ("rule.safety_ratio", |stream| stream.rule = Rule::Throughput { safety_ratio: 1.1, window: 3 }),
            ("rule.safety_ratio", |stream| stream.rule = Rule::Throughput { safety_ratio: 0.0, window: 3 }),
            ("rule.window", |stream| stream.rule = Rule::Throughput { safety_ratio: 0.9, window: 0 }),
            ("rule", |stream| {
                stream.qualities.truncate(1);
                stream.rule = Rule::Bola {};
            }),
        ];
        for (key, spoil) in spoil {
            let mut job = job();
            let Workload::Stream(stream) = &mut job.workload else { panic!("the golden job is a stream") };
            spoil(stream);
            let found = problems(&job);
            assert!(found.len() == 1 && found[0].starts_with(&format!("workload.{key}: ")), "{key}: {found:?}");
        }
    }

    #[test]
    fn a_stream_of_nothing_is_refused_without_a_panic() {
        let mut job = job();
        let Workload::Stream(stream) = &mut job.workload else { panic!("the golden job is a stream") };
        (stream.segment_ns, stream.qualities) = (0, Vec::new());
        stream.rule = Rule::Bola {};
        let found = problems(&job);
        assert!(found.iter().any(|problem| problem.starts_with("workload.segment_ns: ")), "{found:?}");
        assert!(found.iter().any(|problem| problem == "workload.qualities: is empty"), "{found:?}");
    }
}
