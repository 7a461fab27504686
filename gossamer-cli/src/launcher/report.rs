//! The one report of how an application ended.

use crate::exit;
use crate::launcher::fate::Verdict;
use crate::node::ending::{End, How};
use crate::terminal::printable::printable;
use std::time::Duration;

/// Witnesses that are heard: when a machine is gone, all nodes that had to do with it say the same.
const WITNESSES: usize = 4;

/// What is said on standard error: nothing if all went well. `place` gives a node's machine and process, each after a
/// space. `silent` are the machines of which nothing was heard for a while: they may be why a node lost its peer.
pub fn text(
    verdict: &Verdict,
    nodes: usize,
    silent: &[(String, Duration)],
    place: impl Fn(usize) -> String,
) -> String {
    let mut text = String::new();
    if let Some((node, end)) = &verdict.failed {
        text += &failure(*node, end, &place(*node), &verdict.witnesses, silent);
        if nodes > 1 {
            let others = if nodes == 2 { "the other node was" } else { "the other nodes were" };
            text += &format!("gossamer: {others} ended with it\n");
        }
    }
    if let Some(why) = &verdict.why {
        text += &format!("gossamer: {why}\n");
    }
    if !verdict.stragglers.is_empty() {
        let list = list(&verdict.stragglers);
        text += &format!("gossamer: warning: killed {list}, still running 2 s after node 0 had ended\n");
    }
    if !verdict.unknown.is_empty() {
        let list: Vec<String> =
            verdict.unknown.iter().map(|&node| format!("{node}{}", place(node))).collect();
        text += &format!(
            "gossamer: warning: may still be running, although killed: node {}\n",
            list.join(", node ")
        );
    }
    printable(&text)
}

/// How the node ended that ended the application, and what may explain it.
fn failure(
    node: usize,
    end: &End,
    place: &str,
    witnesses: &[(usize, String)],
    silent: &[(String, Duration)],
) -> String {
    let mut text = format!("gossamer: node {node}{place} {}\n", end.how.sentence());
    if let Some(words) = &end.words {
        text += &format!("gossamer:   node {node} said: {words}\n");
    }
    for (witness, words) in witnesses.iter().take(WITNESSES) {
        text += &format!("gossamer:   node {witness} said: {words}\n");
    }
    for (machine, silence) in silent.iter().filter(|_| end.how == How::Exited(exit::LOST)) {
        text += &format!("gossamer:   nothing was heard of {machine} for {} s\n", silence.as_secs());
    }
    text
}

/// `node 1`, or `nodes 1, 2`.
fn list(nodes: &[usize]) -> String {
    let names: Vec<String> = nodes.iter().map(usize::to_string).collect();
    format!("node{} {}", if nodes.len() == 1 { "" } else { "s" }, names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict() -> Verdict {
        Verdict { status: 0, failed: None, witnesses: vec![], why: None, stragglers: vec![], unknown: vec![] }
    }

    #[test]
    fn an_application_that_ended_well_is_not_talked_about() {
        assert_eq!(text(&verdict(), 4, &[], |_| String::new()), "");
    }

    #[test]
    fn the_report_names_node_machine_process_end_and_words() {
        let end = End { how: How::Killed { signal: 11, core: true }, words: Some("worker 1".into()) };
        let verdict = Verdict { failed: Some((2, end)), ..verdict() };
        assert_eq!(
            text(&verdict, 4, &[], |_| " on b (pid 7)".into()),
            "gossamer: node 2 on b (pid 7) was killed by SIGSEGV (core dumped)\n\
             gossamer:   node 2 said: worker 1\n\
             gossamer: the other nodes were ended with it\n"
        );
    }

    #[test]
    fn what_lost_nodes_say_of_each_other_is_told_but_not_without_end() {
        let witnesses = (1..9).map(|node| (node, format!("node 9 is lost, says {node}"))).collect();
        let failed = Some((0, End { how: How::Exited(75), words: None }));
        let text = text(&Verdict { failed, witnesses, ..verdict() }, 10, &[], |_| String::new());
        assert!(text.contains("gossamer:   node 1 said: node 9 is lost, says 1\n"), "{text}");
        assert_eq!(text.matches("node 9 is lost").count(), 4, "{text}");
    }

    #[test]
    fn a_silent_machine_may_explain_a_lost_peer_but_nothing_else() {
        let silent = [("c".to_owned(), Duration::from_millis(4500))];
        let of = |how| {
            let failed = Some((0, End { how, words: None }));
            text(&Verdict { failed, ..verdict() }, 2, &silent, |_| String::new())
        };
        assert!(of(How::Exited(75)).contains("nothing was heard of c for 4 s"));
        assert!(!of(How::Exited(1)).contains("nothing was heard"));
    }

    #[test]
    fn stragglers_and_the_unknown_are_warnings() {
        let verdict = Verdict { stragglers: vec![1, 2], unknown: vec![3], ..verdict() };
        let text = text(&verdict, 4, &[], |node| format!(" (pid {node}0)"));
        assert!(text.contains("killed nodes 1, 2, still running"), "{text}");
        assert!(text.contains("node 3 (pid 30)"), "{text}");
    }
}
