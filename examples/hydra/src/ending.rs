//! What ends the server on all nodes: a signal to any of them, or a client.

use crate::report::warn;
use gossamer::signal::{SignalKind, Signals};
use gossamer::sync::mpsc::UnboundedSender;
use gossamer::{Trust, rack};

/// A terminal that is closed sends one of them, which does not take the keys with it.
pub const SIGNALS: [SignalKind; 3] = [SignalKind::INTERRUPT, SignalKind::TERMINATE, SignalKind::HANGUP];

/// By this, all nodes are ended.
pub struct Ending(UnboundedSender<String>);

impl Ending {
    /// The reason comes out at the other end.
    pub fn new(reasons: UnboundedSender<String>) -> Self {
        Self(reasons)
    }

    pub fn by_client(&mut self, (): ()) {
        self.because("SHUTDOWN".to_owned());
    }

    fn because(&mut self, reason: String) {
        // It is refused only if the nodes end already.
        drop(self.0.send(reason));
    }
}

/// From now on signals end all nodes, whichever of them they reach; those of node 0 are given, since until they were
/// made, signals ended the other nodes by themselves.
pub fn by_signals(of_node_0: Signals, ending: &Trust<Ending>) {
    for node in rack::nodes().iter().skip(1) {
        drop(gossamer::spawn_on_with(node.workers()[0], pass_on_signals, ending.clone()));
    }
    let ending = ending.clone();
    drop(gossamer::spawn_local(move || wait_for_signal(&of_node_0, &ending)));
}

fn pass_on_signals(ending: Trust<Ending>) {
    match Signals::new(SIGNALS) {
        Ok(signals) => wait_for_signal(&signals, &ending),
        Err(error) => {
            let node = rack::this_node().index();
            warn(format_args!("signals to node {node} do not end the server, those to node 0 do: {error}"));
        }
    }
}

fn wait_for_signal(signals: &Signals, ending: &Trust<Ending>) {
    let reason = loop {
        match signals.recv() {
            Ok(SignalKind::HANGUP) => {}
            Ok(signal) => break signal.to_string(),
            Err(error) => break format!("an error: {error}"),
        }
    };
    ending.apply_with(Ending::because, reason);
}
