//! Messages to systemd, if it has started the daemon: that the daemon is ready, what it does, that it is alive, and
//! that it stops.

use sd_notify::NotifyState;
use std::future::pending;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The watchdog of the service, if it has one. The loop that serves all clients tells it that the daemon is alive.
#[derive(Debug)]
pub struct Watchdog(Option<Interval>);

impl Watchdog {
    /// As systemd says (`WatchdogSec`).
    pub fn of_service() -> Self {
        // Twice as often as systemd asks for, so that a message is never late.
        let interval =
            sd_notify::watchdog_enabled().filter(|most| !most.is_zero()).map(|most| interval(most / 2));
        Self(interval.map(|mut interval| {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        }))
    }

    /// Waits until the next message is due; for ever if there is no watchdog.
    pub async fn next(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => pending().await,
        }
    }
}

/// The daemon lives.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// The daemon takes launches.
pub fn ready(address: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("listens on {address}"))]);
}

/// What runs here now.
pub fn status(applications: usize) {
    tell(&[NotifyState::Status(&format!("applications: {applications}"))]);
}

/// The daemon ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    // Without systemd it does nothing; and systemd does not need every single message.
    let _ = sd_notify::notify(state);
}
