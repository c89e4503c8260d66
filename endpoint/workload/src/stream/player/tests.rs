use netwarp_wire::job::{Quality, Rule};

use super::*;

const MS: u64 = 1_000_000;

/// Returns a medium of ten segments of a second each. Playback starts with one buffered segment; the buffer holds
/// three.
fn medium() -> Stream {
    Stream {
        seed: 1,
        segments: 10,
        segment_ns: 1000 * MS,
        qualities: vec![Quality { name: "only".to_owned(), segment_bytes: 1 }],
        rule: Rule::Delay { bounds_ns: vec![] },
        viewer_clock: ViewerClock::Play,
        watch_ns: 5000 * MS,
        start_buffer_ns: 1000 * MS,
        buffer_ns: 3000 * MS,
        seek_ratio: 0.0,
        verify: false,
    }
}

fn wait(until_ms: u64) -> NextAction {
    NextAction::Wait { until_ns: Some(until_ms * MS) }
}

fn play(at_ms: u64, segment: u32) -> (u64, Action) {
    (at_ms * MS, Action::Play { segment })
}

fn stall(at_ms: u64) -> (u64, Action) {
    (at_ms * MS, Action::Stall {})
}

fn end(at_ms: u64) -> (u64, Action) {
    (at_ms * MS, Action::End {})
}

fn cut(request: Option<u32>, segment: u32, requested_ms: u64, cut_ms: u64, cause: CutCause) -> CutSegmentRecord {
    let (requested_ns, cut_ns) = (requested_ms * MS, cut_ms * MS);
    CutSegmentRecord { request, segment, quality: request.map(|_| 0), requested_ns, cut_ns, cause }
}

/// Lets the player send its next request, and asserts that it is for `segment` and made with `ahead_ms` buffered.
fn ask(player: &mut Player, at_ms: u64, segment: u32, ahead_ms: u64) -> RequestId {
    let is_first = player.tickets == 0;
    let wanted = WantedSegment { segment, since_ns: at_ms * MS, ahead_ns: ahead_ms * MS, is_first };
    assert_eq!(player.next(at_ms * MS), NextAction::Request(wanted));
    player.sent(0)
}

/// Answers the player's requests one after another, each after the next of `durations_ms`. Returns the player's
/// actions.
fn watch(media: &Stream, durations_ms: impl IntoIterator<Item = u64>) -> Vec<(u64, Action)> {
    let mut durations_ms = durations_ms.into_iter();
    let (mut player, mut now_ns, mut under_way) = (Player::new(media, 1, 0), 0, None::<(RequestId, u64)>);
    loop {
        let until_ns = match player.next(now_ns) {
            NextAction::Done => return player.take_actions(),
            NextAction::Request(_) => {
                under_way = Some((player.sent(0), now_ns + durations_ms.next().expect("a duration for each") * MS));
                continue;
            }
            NextAction::Wait { until_ns } => until_ns.unwrap_or(u64::MAX),
        };
        now_ns = until_ns.min(under_way.map_or(u64::MAX, |(_, at_ns)| at_ns));
        if let Some((request_id, _)) = under_way.take_if(|(_, at_ns)| *at_ns == now_ns) {
            player.arrived(request_id, now_ns);
        }
    }
}

#[test]
fn segments_that_come_in_time_play_without_a_stall() {
    // 300 ms each, requested one after another: the player never waits after the first.
    assert_eq!(watch(&medium(), [300; 5]), [play(300, 0), end(5300)]);
}

#[test]
fn stalls_have_their_number_and_length() {
    // The segments arrive at 500, 1200, 3000, 5500, 6000. The player plays 0 and 1 from 500 to 2500, 2 from 3000 to
    // 4000, 3 and 4 from 5500.
    let expected = [play(500, 0), stall(2500), play(3000, 2), stall(4000), play(5500, 3), end(7500)];
    assert_eq!(watch(&medium(), [500, 700, 1800, 2500, 500]), expected);
}

#[test]
fn a_segment_in_the_nick_of_time_is_no_stall() {
    assert_eq!(watch(&medium(), [1000; 5]), [play(1000, 0), end(6000)]);
    let expected = [play(1001, 0), stall(2001), play(2002, 1), stall(3002), play(3003, 2)];
    assert_eq!(watch(&medium(), [1001; 5])[..5], expected);
}

#[test]
fn playing_starts_with_enough_at_hand_or_all_that_is_left() {
    let media = Stream { start_buffer_ns: 3000 * MS, ..medium() };
    // Three have arrived at 3 · 1500; they last until 7500. There is room for the fourth at 5500; it arrives at 9500,
    // and the fifth at 11 000. No more are left, so playing continues with the two.
    let expected = [play(4500, 0), stall(7500), play(11_000, 3), end(13_000)];
    assert_eq!(watch(&media, [1500, 1500, 1500, 4000, 1500]), expected);
}

#[test]
fn a_full_buffer_is_waited_out() {
    let mut player = Player::new(&medium(), 1, 0);
    for (at_ms, segment, ahead_ms) in [(0, 0, 0), (100, 1, 1000), (200, 2, 1900)] {
        let request_id = ask(&mut player, at_ms, segment, ahead_ms);
        player.arrived(request_id, (at_ms + 100) * MS);
    }
    // At 300, 800 + 1000 + 1000 ms are buffered, of which 800 must have been played before another second fits.
    assert_eq!(player.next(300 * MS), wait(1100));
    assert_eq!(player.next(1000 * MS), wait(1100));
    let request_id = ask(&mut player, 1100, 3, 2000);
    // The request has been sent: now only an arrival changes anything, although the buffer is empty at 3100.
    assert_eq!(player.next(1200 * MS), NextAction::Wait { until_ns: None });
    player.arrived(request_id, 1300 * MS);
    assert_eq!(player.next(1300 * MS), wait(2100));
    let request_id = ask(&mut player, 2100, 4, 2000);
    player.arrived(request_id, 2200 * MS);
    // All that will be watched is buffered: only the end is left to wait for.
    assert_eq!(player.next(2200 * MS), wait(5100));
    assert_eq!(player.next(5100 * MS), NextAction::Done);
    assert_eq!(player.take_actions(), [play(100, 0), end(5100)]);
}

#[test]
fn a_wish_keeps_its_time_until_it_is_sent() {
    let mut player = Player::new(&medium(), 1, 0);
    let wanted = NextAction::Request(WantedSegment { segment: 0, since_ns: 10 * MS, ahead_ns: 0, is_first: true });
    assert_eq!(player.next(10 * MS), wanted);
    assert_eq!(player.next(30 * MS), wanted);
}

#[test]
fn the_medium_goes_round() {
    let media = Stream { segments: 2, ..medium() };
    let mut player = Player::new(&media, 1, 0);
    for (at_ms, segment) in [(0, 0), (1500, 1), (3000, 0), (4500, 1), (6000, 0)] {
        let request_id = ask(&mut player, at_ms, segment, 0);
        player.arrived(request_id, (at_ms + 500) * MS);
        player.next((at_ms + 1500) * MS);
    }
    let played: Vec<_> =
        player.take_actions().into_iter().filter(|(_, action)| matches!(action, Action::Play { .. })).collect();
    assert_eq!(played, [play(500, 0), play(2000, 1), play(3500, 0), play(5000, 1), play(6500, 0)]);
}

#[test]
fn a_watch_of_part_of_a_segment_ends_inside_it() {
    let media = Stream { watch_ns: 1250 * MS, ..medium() };
    assert_eq!(watch(&media, [100, 100]), [play(100, 0), end(1350)]);
}

#[test]
fn a_seek_throws_away_what_is_at_hand_and_under_way() {
    let mut player = Player::new(&Stream { seek_ratio: 1.0, ..medium() }, 1, 0);
    let first = ask(&mut player, 0, 0, 0);
    player.arrived(first, 100 * MS);
    let second = ask(&mut player, 100, 1, 1000);
    player.arrived(second, 200 * MS);
    let third = ask(&mut player, 200, 2, 1900);
    assert_eq!(player.next(300 * MS), wait(1100));
    // The first full second of play time is over at 1100, and the player is asked later.
    let NextAction::Request(wanted) = player.next(1150 * MS) else { panic!("nothing is at hand") };
    assert_eq!((wanted.since_ns, wanted.ahead_ns, wanted.is_first), (1150 * MS, 0, true));
    let sought = (1100 * MS, Action::Seek { segment: wanted.segment });
    let fourth = player.sent(0);
    assert!(!player.wants(third) && player.wants(fourth));
    player.arrived(third, 1200 * MS);
    assert_eq!(player.next(1200 * MS), NextAction::Wait { until_ns: None }, "what arrived is of no use");
    player.arrived(fourth, 1300 * MS);
    assert_eq!(player.take_actions(), [play(100, 0), sought, play(1300, wanted.segment)]);
    assert_eq!(player.take_cut(), [cut(Some(2), 2, 200, 1100, CutCause::Seek)]);
}

#[test]
fn a_segment_that_was_wanted_and_not_yet_requested_is_cut_off_too() {
    let mut player = Player::new(&Stream { seek_ratio: 1.0, ..medium() }, 1, 0);
    let first = ask(&mut player, 0, 0, 0);
    player.arrived(first, 100 * MS);
    assert!(matches!(player.next(150 * MS), NextAction::Request(_)), "which no stream can carry");
    player.next(1100 * MS);
    assert_eq!(player.take_cut(), [cut(None, 1, 150, 1100, CutCause::Seek)]);
    assert_eq!(player.take_cut(), []);
}

#[test]
fn a_session_by_the_wall_s_clock_ends_at_its_time() {
    let media = Stream { viewer_clock: ViewerClock::Wall, ..medium() };
    let expected = [play(1500, 0), stall(2500), play(3000, 1), stall(4000), play(4500, 2), end(5000)];
    assert_eq!(watch(&media, [1500; 4]), expected);
}

#[test]
fn by_the_wall_s_clock_the_viewer_seeks_whether_anything_plays_or_not() {
    let begin_ms = 250;
    let media = Stream { seek_ratio: 1.0, viewer_clock: ViewerClock::Wall, watch_ns: 3000 * MS, ..medium() };
    let mut player = Player::new(&media, 1, begin_ms * MS);
    let mut now_ns = begin_ms * MS;
    while player.next(now_ns) != NextAction::Done {
        player.sent(2);
        let NextAction::Wait { until_ns: Some(until_ns) } = player.next(now_ns) else {
            panic!("the draw is waited for")
        };
        now_ns = until_ns;
    }
    let actions = player.take_actions();
    let sought = |at: usize| match actions[at] {
        (at_ns, Action::Seek { segment }) => (at_ns / MS, segment),
        _ => panic!("{actions:?}"),
    };
    let ((1250, one), (2250, two)) = (sought(0), sought(1)) else { panic!("{actions:?}") };
    assert_eq!(actions[2..], [end(3250)]);
    let expected = [
        cut(Some(0), 0, 250, 1250, CutCause::Seek),
        cut(Some(1), one, 1250, 2250, CutCause::Seek),
        cut(Some(2), two, 2250, 3250, CutCause::End),
    ];
    let in_quality = |each: CutSegmentRecord| CutSegmentRecord { quality: Some(2), ..each };
    assert_eq!(player.take_cut(), expected.map(in_quality));
}

#[test]
fn a_viewer_who_seeks_as_the_buffer_runs_out_sees_no_stall() {
    let media = Stream { seek_ratio: 1.0, ..medium() };
    // The viewer seeks whenever a second has been played; the buffer holds just that second. There are nine requests:
    // five segments are played, four are under way when the viewer seeks.
    let actions = watch(&media, [1500; 9]);
    let kinds: Vec<_> = actions.iter().map(|(at_ns, action)| (at_ns / MS, std::mem::discriminant(action))).collect();
    let [play, seek, end] = [Action::Play { segment: 0 }, Action::Seek { segment: 0 }, Action::End {}]
        .map(|action| std::mem::discriminant(&action));
    let seconds = (0..4).flat_map(|second| [(1500 + 2500 * second, play), (2500 + 2500 * second, seek)]);
    assert_eq!(kinds, seconds.chain([(11_500, play), (12_500, end)]).collect::<Vec<_>>());
}

#[test]
fn nobody_seeks_while_nothing_plays() {
    // Segments of 300 ms take 1000 ms each: most of the time is stalls, and draws are made only with play time.
    let media = Stream { segment_ns: 300 * MS, seek_ratio: 1.0, watch_ns: 4000 * MS, ..medium() };
    let actions = watch(&Stream { start_buffer_ns: 300 * MS, ..media }, [1000; 100]);
    let (mut played_ns, mut since_ns) = (0, None);
    for (at_ns, action) in &actions {
        match (action, since_ns.take()) {
            (Action::Play { .. }, None) => since_ns = Some(*at_ns),
            (Action::Stall {}, Some(start_ns)) => played_ns += at_ns - start_ns,
            (Action::Seek { .. } | Action::End {}, Some(start_ns)) => {
                played_ns += at_ns - start_ns;
                assert_eq!(played_ns % NANOSECONDS_PER_SECOND, 0);
            }
            unexpected => panic!("{unexpected:?} at {at_ns}"),
        }
    }
    let seeks = actions.iter().filter(|(_, action)| matches!(action, Action::Seek { .. })).count();
    assert_eq!((played_ns, seeks), (4000 * MS, 3));
}

#[test]
fn seeks_are_as_frequent_and_as_even_as_drawn() {
    let media = Stream { seek_ratio: 0.3, watch_ns: 10_001_000 * MS, ..medium() };
    let sought: Vec<u32> = watch(&media, std::iter::repeat(10))
        .into_iter()
        .filter_map(|(_, action)| if let Action::Seek { segment } = action { Some(segment) } else { None })
        .collect();
    // Binomial with n = 10 000 and p = 0.3: mean 3000, standard deviation 45.8; three of them.
    assert!((2863..=3137).contains(&sought.len()), "{}", sought.len());
    for segment in 0..10 {
        // About n = 3000 and p = 0.1: mean 300, standard deviation 16.4; four of them, for ten looks.
        let count = sought.iter().filter(|found| **found == segment).count();
        assert!((234..=366).contains(&count), "segment {segment}: {count}");
    }
}

#[test]
fn the_viewer_does_the_same_in_the_same_second_whatever_the_network() {
    let media = Stream { seek_ratio: 0.3, watch_ns: 60_000 * MS, ..medium() };
    let sought = |duration_ms| -> Vec<Action> {
        let actions = watch(&media, std::iter::repeat(duration_ms)).into_iter().map(|(_, action)| action);
        actions.filter(|action| matches!(action, Action::Seek { .. })).collect()
    };
    assert_eq!(sought(10), sought(2500));
    assert!(!sought(10).is_empty());
}
