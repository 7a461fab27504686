//! The one report of how an application ended.

use crate::exit;
use crate::launcher::fate::Verdict;
use crate::launcher::fault::{Fault, said};
use crate::node::ending::{End, How};
use crate::terminal::printable::printable;
use std::time::Duration;

/// At most this many witnesses are quoted: when a machine is gone, all nodes that had to do with it say the same.
const WITNESSES: usize = 4;

/// What is written on standard error: nothing if everything went well. `place` gives a node's machine and process, each
/// after a space. `silent` are the machines that were silent for a while: that may be why a node lost its peer.
pub fn text(
    verdict: &Verdict,
    nodes: usize,
    silent: &[(String, Duration)],
    place: impl Fn(usize) -> String,
) -> String {
    let mut text = String::new();
    if let Some((node, end)) = &verdict.failed {
        text += &headline(verdict, *node, end, &place);
        text += &explanation(*node, end, &verdict.witnesses, silent);
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

/// What a node was doing when its time was up: `place` is its machine and process, after a space.
#[must_use]
pub fn activity(node: usize, place: &str, text: &str) -> String {
    let mut report = format!("gossamer: node {node}{place}, when its time was up:\n");
    for line in text.lines() {
        report += &format!("gossamer:   {line}\n");
    }
    printable(&report)
}

/// Which node is at fault, and how it ended.
fn headline(verdict: &Verdict, failed: usize, end: &End, place: impl Fn(usize) -> String) -> String {
    let named = |node: usize| format!("node {node}{}", place(node));
    match &verdict.fault {
        Some(Fault::Lost { node, by }) => format!(
            "gossamer: {} is lost to {}, and nothing else explains it: it was stopped, or the link to it is cut\n",
            named(*node),
            list(by)
        ),
        Some(Fault::LostEachOther(one, other)) => format!(
            "gossamer: {} and {} have lost each other, and nothing else explains it: the link between them is cut\n",
            named(*one),
            named(*other)
        ),
        Some(Fault::Failed(_)) | None => format!("gossamer: {} {}\n", named(failed), end.how.sentence()),
    }
}

/// What nodes have said, and which machines were silent.
fn explanation(
    node: usize,
    end: &End,
    witnesses: &[(usize, String)],
    silent: &[(String, Duration)],
) -> String {
    let mut text = String::new();
    let own = end.words.iter().map(|words| (node, words));
    let others = witnesses.iter().map(|(witness, words)| (*witness, words));
    for (witness, words) in own.chain(others.take(WITNESSES)) {
        text += &format!("gossamer:   node {witness} said: {}\n", said(words));
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
        Verdict {
            status: 0,
            fault: None,
            failed: None,
            witnesses: vec![],
            why: None,
            stragglers: vec![],
            unknown: vec![],
        }
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
    fn a_node_that_was_lost_and_a_link_that_was_cut_are_in_the_first_line() {
        let failed =
            Some((1, End { how: How::Exited(75), words: Some("because of node 2: it is silent".into()) }));
        let said = |fault| {
            let verdict = Verdict { fault: Some(fault), failed: failed.clone(), ..verdict() };
            text(&verdict, 4, &[], |node| format!(" (pid {node}0)"))
        };
        let lost = said(Fault::Lost { node: 2, by: vec![0, 1] });
        assert!(lost.starts_with("gossamer: node 2 (pid 20) is lost to nodes 0, 1, and nothing"), "{lost}");
        assert!(lost.contains("\ngossamer:   node 1 said: it is silent\n"), "{lost}");
        let cut = said(Fault::LostEachOther(1, 2));
        assert!(
            cut.starts_with("gossamer: node 1 (pid 10) and node 2 (pid 20) have lost each other"),
            "{cut}"
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
