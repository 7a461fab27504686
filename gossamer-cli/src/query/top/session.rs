//! `gossamer top` at a terminal: one thread looks, this one shows what was seen and reads keys. However it ends, the
//! terminal is restored.

use crate::exit::{FAILED, Failure, OUTPUT};
use crate::query::look::Seen;
use crate::query::top::screen::Screen;
use crate::query::top::{TopArguments, look};
use gossamer::inspect::NodeActivity;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long to wait for a key before looking for other events.
const TICK: Duration = Duration::from_millis(100);

/// How long it has to end after a signal.
const LAST: Duration = Duration::from_secs(1);

/// The result of a look.
type Look = Result<Seen<NodeActivity>, Failure>;

/// The terminal, until it is dropped. A panic restores it, too, before the panic is printed.
struct OwnedTerminal(DefaultTerminal);

impl OwnedTerminal {
    fn take() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }
}

impl Drop for OwnedTerminal {
    fn drop(&mut self) {
        // Later output begins below what was there before. A terminal that is gone needs nothing.
        let _gone = self.0.show_cursor();
        let _gone = ratatui::try_restore();
    }
}

/// Shows what is seen until the user ends it.
///
/// # Errors
/// If there is nothing left to look at, or the terminal cannot be used.
pub(crate) fn run(arguments: &TopArguments) -> Result<u8, Failure> {
    let broken = |error: io::Error| Failure::new(OUTPUT, format!("the terminal cannot be used: {error}"));
    let (looks, signals) = (looks(arguments).map_err(broken)?, signals().map_err(broken)?);
    let mut screen = Screen::new(arguments.sort);
    let mut terminal = OwnedTerminal::take().map_err(broken)?;
    let mut is_old = true;
    loop {
        if is_old {
            terminal.0.draw(|frame| screen.draw(frame)).map_err(broken)?;
        }
        is_old = event::poll(TICK).map_err(broken)?;
        if is_old
            && let Event::Key(key) = event::read().map_err(broken)?
            && key.kind != KeyEventKind::Release
            && screen.press(key)
        {
            return Ok(0);
        }
        if let Ok(status) = signals.try_recv() {
            return Ok(status);
        }
        if screen.is_paused() {
            continue;
        }
        match looks.try_recv() {
            Ok(seen) => {
                screen.show(seen?);
                is_old = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(Failure::new(FAILED, "nobody looks any more")),
        }
    }
}

/// Looks again and again, as long as somebody wants to see.
fn looks(arguments: &TopArguments) -> io::Result<Receiver<Look>> {
    let (tell, told) = sync_channel(0);
    let arguments = arguments.clone();
    thread::Builder::new().name("look".into()).spawn(move || {
        loop {
            let seen = look(&arguments);
            let is_last = seen.is_err();
            if tell.send(seen).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(told)
}

/// The exit status for the first signal that ends this. Ctrl-C is a key here.
fn signals() -> io::Result<Receiver<u8>> {
    let (tell, told) = sync_channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        let status = runtime.block_on(async {
            let (mut terminate, mut interrupt, mut hangup) = (
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            );
            io::Result::Ok(tokio::select! {
                _ = terminate.recv() => 143,
                _ = interrupt.recv() => 130,
                _ = hangup.recv() => 129,
            })
        });
        // Without signals it ends by keys.
        let Ok(status) = status else { return };
        if tell.send(status).is_ok() {
            // A thread that reads keys from a terminal that is gone never returns.
            thread::sleep(LAST);
            std::process::exit(status.into());
        }
    })?;
    Ok(told)
}
