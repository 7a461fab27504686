//! The screen, showing a runtime of this very process.

use crate::query::look::{Seen, SeenNode};
use crate::query::top::Order;
use crate::query::top::screen::Screen;
use gossamer::inspect::{ask_activity, inspection_sockets};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A screen that shows this many workers.
fn screen(workers: usize) -> Screen {
    // It looks at all runtimes of the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = gossamer::Config::default().threads(workers);
    let nodes = gossamer::run(config, || {
        let own = inspection_sockets().unwrap().into_iter().find(|one| one.process == std::process::id());
        let asked =
            std::thread::spawn(move || ask_activity(&own.unwrap(), Duration::from_millis(10)).unwrap());
        while !asked.is_finished() {
            gossamer::sleep(Duration::from_millis(1));
        }
        asked.join().unwrap()
    });
    let nodes = nodes.into_iter().map(|said| SeenNode { place: None, said }).collect();
    let mut screen = Screen::new(Order::Worker);
    screen.show(Seen { nodes, silent: vec!["process 7 does not\u{1b}[2J answer".into()] });
    screen
}

fn press(screen: &mut Screen, key: KeyCode) {
    assert!(!screen.press(KeyEvent::new(key, KeyModifiers::NONE)));
}

fn drawn(screen: &mut Screen, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let cells = terminal.backend().buffer().content();
    let line = |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    cells.chunks(usize::from(columns)).map(|cells| line(cells).trim_end().to_owned()).collect()
}

#[test]
fn all_parts_are_on_small_and_large_screens_of_one_and_of_many_workers() {
    for (workers, columns, rows) in [(1, 80, 24), (64, 80, 24), (1, 200, 60), (64, 200, 60)] {
        let mut screen = screen(workers);
        let lines = drawn(&mut screen, columns, rows);
        let text = lines.join("\n");
        assert!(lines[0].starts_with(&format!("gossamer top: nodes: 1, workers: {workers}")), "{text}");
        for part in
            ["NODE    MACHINE", "WORKER  BUSY", "SERVED/S", "P99", "RECEIVED/S", "FOUND RUNNING", " % "]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(lines[usize::from(rows) - 1].starts_with("q end"), "{text}");
        assert_eq!(lines[usize::from(rows) - 2], "! process 7 does not\\u{1b}[2J answer");
        let shown = lines.iter().filter(|line| line.starts_with("0 ")).count();
        assert!(if workers == 1 { shown == 2 } else { shown > 10 }, "{text}");
    }
}

#[test]
fn keys_choose_parts_scroll_filter_and_pause_and_no_size_is_too_small() {
    let mut screen = screen(64);
    press(&mut screen, KeyCode::PageDown);
    assert!(drawn(&mut screen, 80, 24)[0].contains("; workers 11 to "));
    (0..10).for_each(|_| press(&mut screen, KeyCode::PageDown));
    assert!(drawn(&mut screen, 80, 24)[0].ends_with(" to 64 of 64"), "it ends with the last one");
    press(&mut screen, KeyCode::Home);
    "/GOSSAMER_cli".chars().for_each(|key| press(&mut screen, KeyCode::Char(key)));
    let lines = drawn(&mut screen, 80, 24);
    assert!(lines[0].ends_with("workers 0 of 0"), "{lines:?}");
    assert_eq!(lines[23], "filter: GOSSAMER_cli_  Enter keeps it, Escape clears it");
    assert_eq!(lines.iter().filter(|line| line.contains("cli-")).count(), 1, "{lines:?}");
    press(&mut screen, KeyCode::Esc);
    press(&mut screen, KeyCode::Char(' '));
    press(&mut screen, KeyCode::Char('s'));
    press(&mut screen, KeyCode::BackTab);
    let lines = drawn(&mut screen, 80, 24);
    assert!(
        lines[0].ends_with("by busy; nodes 1 to 1 of 1") && lines[23].starts_with("PAUSED  q end"),
        "{lines:?}"
    );
    for (columns, rows) in [(1, 1), (1, 5), (20, 2), (80, 3), (80, 6), (3, 100)] {
        drawn(&mut screen, columns, rows);
    }
    assert!(screen.is_paused() && screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
}
