//! The launcher's decisions, with a clock that the tests set.

use gossamer_cli::launcher::fate::{FAREWELL, Fate, GRACE, LEFT};
use gossamer_cli::node::ending::{End, How, RELEASED};
use gossamer_cli::node::signal::{GIVE_UP, INTERRUPTED};
use std::time::{Duration, Instant};

const INSTANT: Duration = Duration::from_millis(1);
const SEGV: How = How::Killed { signal: 11, core: false };
const KILLED: How = How::Killed { signal: 9, core: false };

fn end(how: How) -> End {
    End { how, words: None }
}

/// The application's nodes, and the time.
struct Scene {
    fate: Fate,
    now: Instant,
}

impl Scene {
    fn of(nodes: usize) -> Self {
        Self { fate: Fate::new(nodes), now: Instant::now() }
    }

    fn ended(&mut self, node: usize, how: How) -> &mut Self {
        self.fate.ended(self.now, node, end(how));
        self
    }

    fn later(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self.fate.tick(self.now);
        self
    }

    fn sends(&mut self, signals: &[u8]) -> &mut Self {
        assert_eq!(self.fate.signals(), signals);
        self
    }

    fn over(&mut self, status: u8, failed: Option<usize>) {
        assert!(self.fate.is_over(self.now));
        let verdict = self.fate.verdict();
        assert_eq!((verdict.status, verdict.failed.map(|failed| failed.0)), (status, failed));
    }
}

#[test]
fn an_application_whose_nodes_all_end_well_has_status_0_in_any_order() {
    for first in 0..3 {
        let mut scene = Scene::of(3);
        for node in 0..3 {
            assert!(!scene.fate.is_over(scene.now));
            scene.ended((first + node) % 3, How::Exited(0)).later(INSTANT).sends(&[]);
        }
        scene.over(0, None);
    }
}

#[test]
fn node_0_may_go_on_for_long_when_it_has_released_the_others() {
    let mut scene = Scene::of(3);
    for node in [2, 1] {
        let released = End { how: How::Exited(0), words: Some(RELEASED.to_owned()) };
        scene.fate.ended(scene.now, node, released);
    }
    scene.later(100 * FAREWELL).sends(&[]);
    assert!(!scene.fate.is_over(scene.now));
    scene.ended(0, How::Exited(4)).over(4, Some(0));
}

#[test]
fn the_others_of_a_failed_node_are_killed_after_the_grace() {
    let mut scene = Scene::of(3);
    scene.ended(1, SEGV).later(GRACE - INSTANT).sends(&[]).later(INSTANT).sends(&[9]);
    scene.ended(0, KILLED).ended(2, KILLED).over(139, Some(1));
}

#[test]
fn a_failure_that_explains_more_takes_the_place_of_a_lost_peer() {
    let mut scene = Scene::of(3);
    scene.ended(0, How::Exited(75)).later(GRACE / 2).ended(2, How::Exited(3)).later(INSTANT);
    scene.ended(1, SEGV).sends(&[]).over(3, Some(2));
}

#[test]
fn a_lost_peer_that_nothing_explains_is_reported_itself() {
    let mut scene = Scene::of(2);
    scene.ended(1, How::Exited(75)).later(GRACE).sends(&[9]);
    scene.ended(0, KILLED).over(75, Some(1));
}

#[test]
fn what_nodes_say_of_lost_peers_is_kept_unless_a_failure_explains_more() {
    let mut scene = Scene::of(4);
    let words = |text: &str| End { how: How::Exited(75), words: Some(text.to_owned()) };
    // Node 2 noticed the silence, and node 0 noticed the end of node 2; but word of that arrived first, and word of
    // node 1 before all.
    scene.ended(1, How::Exited(75));
    scene.fate.ended(scene.now, 0, words("node 2 has ended"));
    scene.fate.ended(scene.now, 2, words("node 3 is silent"));
    let said = [(0, "node 2 has ended".to_owned()), (2, "node 3 is silent".to_owned())];
    assert_eq!(scene.fate.verdict().witnesses, said);
    scene.ended(3, SEGV).over(139, Some(3));
    assert_eq!(scene.fate.verdict().witnesses, []);
}

#[test]
fn a_lost_machine_explains_lost_peers() {
    let mut scene = Scene::of(2);
    scene.ended(0, How::Exited(75)).later(INSTANT).ended(1, How::Lost("silence".into()));
    scene.over(75, Some(1));
}

#[test]
fn a_node_that_ends_well_but_long_before_node_0_has_failed() {
    let mut scene = Scene::of(2);
    scene.ended(1, How::Exited(0)).later(LEFT - INSTANT).sends(&[]).later(INSTANT).sends(&[9]);
    scene.ended(0, KILLED).over(1, Some(1));
}

#[test]
fn nodes_that_lose_node_0_because_it_has_ended_well_do_not_count() {
    let mut scene = Scene::of(3);
    scene.ended(1, How::Exited(75)).ended(0, How::Exited(0)).ended(2, How::Exited(75)).over(0, None);
}

#[test]
fn a_crash_after_the_good_end_of_node_0_counts() {
    let mut scene = Scene::of(2);
    scene.ended(0, How::Exited(0)).later(INSTANT).ended(1, SEGV).over(139, Some(1));
}

#[test]
fn a_crash_is_not_forgotten_when_node_0_ends_well_within_the_grace() {
    let mut scene = Scene::of(2);
    scene.ended(1, SEGV).later(INSTANT).ended(0, How::Exited(0)).over(139, Some(1));
}

#[test]
fn nodes_that_outlive_node_0_are_killed_with_a_warning() {
    let mut scene = Scene::of(3);
    scene.ended(0, How::Exited(0)).later(INSTANT).ended(1, How::Exited(0)).later(FAREWELL).sends(&[9]);
    scene.ended(2, KILLED).over(0, None);
    assert_eq!(scene.fate.verdict().stragglers, [2]);
}

#[test]
fn the_first_signal_is_passed_on_and_time_kills() {
    let mut scene = Scene::of(2);
    scene.fate.interrupted(scene.now, 2);
    scene
        .sends(&[2])
        .ended(1, How::Exited(0))
        .later(INTERRUPTED - INSTANT)
        .sends(&[])
        .later(INSTANT)
        .sends(&[9]);
    scene.ended(0, KILLED).over(130, None);
}

#[test]
fn the_second_signal_kills() {
    let mut scene = Scene::of(1);
    scene.fate.interrupted(scene.now, 15);
    scene.fate.interrupted(scene.now, 2);
    scene.fate.interrupted(scene.now, 2);
    scene.sends(&[15, 9]).ended(0, KILLED).over(143, None);
}

#[test]
fn a_signal_during_the_grace_kills_but_does_not_hide_the_failure() {
    let mut scene = Scene::of(2);
    scene.ended(1, How::Exited(4));
    scene.fate.interrupted(scene.now, 2);
    scene.sends(&[9]).ended(0, KILLED).over(4, Some(1));
}

#[test]
fn a_closed_output_kills_at_once() {
    let mut scene = Scene::of(1);
    scene.fate.unwritable(scene.now, None);
    scene.sends(&[9]).ended(0, KILLED).over(141, None);
}

#[test]
fn nodes_that_do_not_even_end_when_killed_are_named() {
    let mut scene = Scene::of(2);
    scene.ended(1, SEGV).later(GRACE).sends(&[9]).later(GIVE_UP).over(139, Some(1));
    assert_eq!(scene.fate.verdict().unknown, [0]);
}

#[test]
fn ends_of_unknown_nodes_and_second_ends_are_ignored() {
    let mut scene = Scene::of(1);
    scene.ended(7, SEGV).ended(0, How::Exited(0)).ended(0, SEGV).over(0, None);
}

#[test]
fn there_is_always_a_deadline_once_the_end_has_begun() {
    let mut scene = Scene::of(2);
    assert_eq!(scene.fate.deadline(), None);
    scene.ended(1, How::Exited(75));
    assert_eq!(scene.fate.deadline(), Some(scene.now + GRACE));
    scene.later(INSTANT).ended(0, How::Exited(0));
    assert_eq!(scene.fate.deadline(), Some(scene.now + FAREWELL));
}
