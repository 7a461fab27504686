//! The applications that have nodes on this machine; those that have ended, for a while.

use crate::daemon::record::{ApplicationRecord, InspectableNode};
use crate::metrics::folder::SocketFolder;
use crate::node::message::Event;
use crate::rack::config::Limits;
use crate::rack::protocol::{ApplicationSummary, Launch, LoggedOutput};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How many ended applications are remembered, and how many nodes they may have had together: their list fits into one message.
const REMEMBERED: usize = 256;
const REMEMBERED_NODES: usize = 4096;
/// How long applications are remembered, except for the last one.
const LONGEST: Duration = Duration::from_hours(24);
/// For how many of them the output is kept, too.
const WITH_OUTPUT: usize = 32;

/// All applications, oldest first.
#[derive(Debug)]
pub struct Registry {
    applications: Mutex<Vec<ApplicationRecord>>,
    most: usize,
    output_bytes: usize,
}

/// A running application, until it is dropped.
#[derive(Debug)]
pub struct Registration {
    registry: Arc<Registry>,
    application: String,
}

impl Registry {
    /// With nothing in it.
    pub fn new(limits: &Limits) -> Self {
        let output_bytes = limits.log_kibibytes << 10;
        Self { applications: Mutex::default(), most: limits.applications, output_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ApplicationRecord>> {
        self.applications.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an application; `session` gets the name of the user who wants to end it.
    ///
    /// # Errors
    /// If there are too many, or there is one of this id.
    pub fn enter(
        self: &Arc<Self>,
        launch: &Launch,
        session: UnboundedSender<String>,
    ) -> Result<Registration, String> {
        let mut applications = self.lock();
        let running = applications.iter().filter(|application| application.runs()).count();
        if running >= self.most {
            return Err(format!(
                "{running} applications run here already, as many as `applications` in [limits] allows"
            ));
        }
        if applications.iter().any(|application| application.application() == launch.application) {
            return Err(format!("there is an application {} already", launch.application));
        }
        applications.push(ApplicationRecord::new(launch, session));
        Ok(Registration { registry: Arc::clone(self), application: launch.application.clone() })
    }

    /// The applications that run, and those that have ended, if they are wanted.
    pub fn list(&self, ended: bool) -> Vec<ApplicationSummary> {
        let mut applications = self.lock();
        forget(&mut applications);
        let wanted = applications.iter().filter(|application| ended || application.runs());
        wanted.map(ApplicationRecord::summary).collect()
    }

    /// How many applications and nodes run.
    pub fn running(&self) -> (usize, usize) {
        let applications = self.lock();
        let running = applications.iter().filter(|application| application.runs());
        running.fold((0, 0), |(count, nodes), running| (count + 1, nodes + running.running().len()))
    }

    /// The nodes that run, of an application or of all.
    pub fn nodes(&self, application: Option<&str>) -> Vec<InspectableNode> {
        let applications = self.lock();
        let is_asked = |known: &&ApplicationRecord| application.is_none_or(|id| known.application() == id);
        applications.iter().filter(is_asked).flat_map(ApplicationRecord::nodes).collect()
    }

    /// Ends an application, and says whether it is there.
    pub fn kill(&self, application: &str, by: &str) -> bool {
        let applications = self.lock();
        let found = applications.iter().find(|known| known.application() == application);
        found.is_some_and(|found| found.kill(by))
    }

    /// What an application printed recently.
    pub fn logs(&self, application: &str) -> Option<Vec<LoggedOutput>> {
        let applications = self.lock();
        let found = applications.iter().find(|known| known.application() == application);
        found.map(|found| found.output().cloned().collect())
    }
}

/// Forgets what has ended long ago, or before many others.
fn forget(applications: &mut Vec<ApplicationRecord>) {
    applications.sort_by_key(|application| std::cmp::Reverse(application.age()));
    let (mut count, mut nodes) = (0, 0);
    // Applications that ended last come last, followed only by those that run.
    for application in applications.iter_mut().rev().filter(|application| !application.runs()) {
        count += 1;
        nodes += application.size();
        if count > WITH_OUTPUT {
            application.forget_output();
        }
    }
    applications.retain(|application| {
        let Some(age) = application.age() else { return true };
        let is_recent = count <= REMEMBERED && nodes <= REMEMBERED_NODES && age <= LONGEST;
        let keep = is_recent || count == 1;
        count -= 1;
        nodes -= application.size();
        keep
    });
}

impl Registration {
    /// Calls a function with the record of the application.
    fn with<T>(&self, work: impl FnOnce(&mut ApplicationRecord) -> T) -> Option<T> {
        let mut applications = self.registry.lock();
        applications.iter_mut().find(|known| known.application() == self.application).map(work)
    }

    /// Takes note of what happens to the application's nodes.
    pub fn note(&self, event: &Event) {
        self.with(|application| application.note(event, self.registry.output_bytes));
    }

    /// Takes note of why the application is ended. The first cause counts.
    pub fn note_cause(&self, cause: &str) {
        self.with(|application| application.note_cause(cause));
    }

    /// Takes note of where the application's nodes serve their metrics.
    pub fn serve_metrics(&self, folder: Arc<SocketFolder>) {
        self.with(|application| application.serve_metrics(folder));
    }

    /// Keeps a line about a node among what it printed.
    pub fn say(&self, node: u32, line: &str) {
        self.with(|application| application.say(node, line, self.registry.output_bytes));
    }

    /// The nodes that run.
    pub fn running(&self) -> Vec<u32> {
        self.with(|application| application.running()).unwrap_or_default()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.with(ApplicationRecord::close);
        let mut applications = self.registry.lock();
        applications.retain(|known| known.runs() || known.is_remarkable());
        forget(&mut applications);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::allowance::Allowance;
    use crate::node::ending::{End, How};
    use crate::node::resource_limits::ResourceLimits;

    fn launch(number: usize) -> Launch {
        Launch {
            application: format!("{number:08x}"),
            owner: String::new(),
            token: String::new(),
            nodes: vec![0],
            listen: None,
            arguments: vec![vec![b'x'; 100_000]],
            hash: [0; 32],
            length: 0,
            environment: Vec::new(),
            directory: Vec::new(),
            mask: 0,
            limits: ResourceLimits::own(),
            allowance: Allowance::default(),
        }
    }

    /// An application of this many nodes runs, and ends.
    fn run(registry: &Arc<Registry>, number: usize, nodes: u32) {
        let (session, _) = tokio::sync::mpsc::unbounded_channel();
        let registration = registry.enter(&launch(number), session).unwrap();
        for node in 0..nodes {
            registration.note(&Event::Started { node, pid: 1 });
            let words = Some("w".repeat(4096));
            registration.note(&Event::Ended { node, end: End { how: How::Exited(1), words } });
            registration.say(node, "output");
        }
    }

    fn numbers(registry: &Registry) -> Vec<String> {
        registry.list(true).into_iter().map(|application| application.application).collect()
    }

    #[test]
    fn ended_applications_are_remembered_up_to_a_count() {
        let registry = Arc::new(Registry::new(&Limits::default()));
        let (session, _ended) = tokio::sync::mpsc::unbounded_channel();
        let running = registry.enter(&launch(0), session).unwrap();
        (1..=REMEMBERED + 2).for_each(|number| run(&registry, number, 1));
        let known = numbers(&registry);
        assert_eq!(
            (known.len(), known[0].as_str()),
            (REMEMBERED + 1, "00000003"),
            "the oldest are forgotten"
        );
        assert_eq!((known.last().unwrap().as_str(), registry.list(false).len()), ("00000000", 1));
        let logged = |number| registry.logs(&launch(number).application).map(|log| log.len());
        assert_eq!(logged(REMEMBERED + 2), Some(1));
        assert_eq!(
            (logged(REMEMBERED + 3 - WITH_OUTPUT), logged(REMEMBERED + 2 - WITH_OUTPUT)),
            (Some(1), Some(0))
        );
        drop(running);
    }

    #[test]
    fn ended_applications_of_many_nodes_are_fewer_and_fit_into_a_message() {
        let registry = Arc::new(Registry::new(&Limits::default()));
        (0..6).for_each(|number| run(&registry, number, 1024));
        assert_eq!(numbers(&registry).len(), REMEMBERED_NODES / 1024);
        let reply = crate::rack::protocol::Reply::List(registry.list(true));
        assert!(crate::secure::codec::encode(&reply).unwrap().len() < crate::secure::noise::LONGEST);
        run(&registry, 7, 5000);
        assert_eq!(numbers(&registry), ["00000007"], "the last one is remembered, however large");
    }
}
