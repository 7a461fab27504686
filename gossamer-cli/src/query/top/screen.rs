//! What `gossamer top` shows on a terminal: nodes, workers, peers and what was found running, each in a part of the
//! screen. Nothing depends on colours.

use crate::query::look::{Seen, SeenNode, by_runtime};
use crate::query::top::Order;
use crate::query::top::figures::{
    PEER_TITLES, Rates, WORKER_TITLES, peer_cells, peers, percent, rates, running, short, worker_cells,
};
use crate::terminal::printable::printable;
use gossamer::inspect::NodeActivity;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Row, Table};
use std::path::Path;

const NODE_TITLES: [&str; 8] =
    ["NODE", "MACHINE", "PROCESS", "WORKERS", "BUSY", "SERVED/S", "FIBERS", "PROGRAM"];
const RUNNING_TITLES: [&str; 2] = ["SHARE", "FOUND RUNNING, OF ALL SAMPLES OF ALL WORKERS"];
/// The parts, from top to bottom.
const PARTS: [&str; 4] = ["nodes", "workers", "peers", "running"];
/// The part that is chosen at first.
const WORKERS: usize = 1;
/// The least width of columns, so that they do not jump when numbers change.
const LEAST: usize = 7;
/// How many rows a page is.
const PAGE: usize = 10;
const KEYS: &str = "q end  s sort  / filter  space pause  Tab part  up, down, page up, page down";

/// The state of the screen.
#[derive(Debug)]
pub struct Screen {
    seen: Option<Seen<NodeActivity>>,
    order: Order,
    filter: String,
    is_typing: bool,
    is_paused: bool,
    /// Which part is chosen, and how many rows of each part are above the first visible one.
    chosen: usize,
    above: [usize; PARTS.len()],
}

/// A part: its titles, and those of its rows that pass the filter.
struct ScreenPart {
    titles: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Screen {
    /// Before anything was seen.
    #[must_use]
    pub fn new(order: Order) -> Self {
        let (filter, above) = (String::new(), [0; PARTS.len()]);
        Self { seen: None, order, filter, is_typing: false, is_paused: false, chosen: WORKERS, above }
    }

    /// Takes what a new look has seen.
    pub fn show(&mut self, seen: Seen<NodeActivity>) {
        self.seen = Some(seen);
    }

    /// Whether the screen is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Handles a key; returns whether it ends the program.
    #[must_use]
    pub fn press(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            _ if self.is_typing => self.type_filter(key.code),
            KeyCode::Char('q') => return true,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char(' ' | 'p') => self.is_paused = !self.is_paused,
            KeyCode::Tab => self.chosen = (self.chosen + 1) % PARTS.len(),
            KeyCode::BackTab => self.chosen = (self.chosen + PARTS.len() - 1) % PARTS.len(),
            KeyCode::Down => self.scroll(|above| above + 1),
            KeyCode::Up => self.scroll(|above| above.saturating_sub(1)),
            KeyCode::PageDown => self.scroll(|above| above + PAGE),
            KeyCode::PageUp => self.scroll(|above| above.saturating_sub(PAGE)),
            KeyCode::Home => self.scroll(|_| 0),
            KeyCode::Esc => self.filter.clear(),
            _ => {}
        }
        false
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(character) => self.filter.push(character),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => {}
        }
    }

    fn scroll(&mut self, to: impl FnOnce(usize) -> usize) {
        if let Some(above) = self.above.get_mut(self.chosen) {
            *above = to(*above);
        }
    }

    /// Draws it: a title line at the top, the keys at the bottom, and the parts between them, each of which gets as
    /// much room as it needs, if there is any.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let parts = self.parts();
        let area = frame.area();
        let silent = self.seen.as_ref().map_or(&[][..], |seen| &seen.silent);
        let mut room = area.height;
        let mut below = |text: String, style: Style, frame: &mut Frame<'_>| {
            if room > 1 {
                room -= 1;
                frame.render_widget(Line::styled(text, style), Rect { y: area.y + room, height: 1, ..area });
            }
        };
        below(self.foot(), Style::new(), frame);
        if let Some(first) = silent.first() {
            let more = match silent.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            below(printable(&format!("! {first}{more}")).replace('\n', " "), Style::new(), frame);
        }
        let heights = shared(room.saturating_sub(1), self.chosen, &parts);
        let (mut y, mut seen_rows) = (1, (0, 0));
        for (place, (part, height)) in parts.iter().zip(heights).enumerate() {
            let rows = usize::from(height.saturating_sub(1));
            // A part that has become shorter is not scrolled beyond its end.
            let above = self.above[place].min(part.rows.len().saturating_sub(rows));
            self.above[place] = above;
            if place == self.chosen {
                seen_rows = (above, rows.min(part.rows.len()));
            }
            let area = Rect { y: area.y + y, height, ..area };
            frame.render_widget(part.table(above, rows, area.width, place == self.chosen), area);
            y += height;
        }
        let all = parts.get(self.chosen).map_or(0, |part| part.rows.len());
        let head = Rect { height: area.height.min(1), ..area };
        frame.render_widget(Line::styled(self.head(seen_rows, all), Modifier::BOLD), head);
    }

    /// `gossamer top: nodes: 2, workers: 4, by busy; workers 1 to 4 of 4`
    fn head(&self, (above, rows): (usize, usize), all: usize) -> String {
        let Some(seen) = &self.seen else { return "gossamer top: looks ...".to_owned() };
        let workers: usize = seen.nodes.iter().map(|node| node.said.metrics.workers.len()).sum();
        let mut head = format!("gossamer top: nodes: {}, workers: {workers}", seen.nodes.len());
        head += &format!(", by {}; {} ", self.order.name(), PARTS[self.chosen]);
        head += &match rows {
            0 => format!("0 of {all}"),
            rows => format!("{} to {} of {all}", above + 1, above + rows),
        };
        head
    }

    /// The last line: the keys, after what they have changed.
    fn foot(&self) -> String {
        if self.is_typing {
            return printable(&format!("filter: {}_  Enter keeps it, Escape clears it", self.filter));
        }
        let mut foot = String::new();
        if self.is_paused {
            foot += "PAUSED  ";
        }
        if !self.filter.is_empty() {
            foot += &format!("filter: {}  ", printable(&self.filter));
        }
        foot + KEYS
    }

    fn parts(&self) -> [ScreenPart; PARTS.len()] {
        let nodes = self.seen.as_ref().map_or(&[][..], |seen| &seen.nodes);
        let runtimes = by_runtime(nodes);
        // If there are several programs, each has a number, which stands before the numbers of its nodes.
        let name = |program: usize, node: u32| match runtimes.len() {
            1 => node.to_string(),
            _ => format!("{}.{node}", program + 1),
        };
        let (mut node_rows, mut workers, mut peer_rows) = (Vec::new(), Vec::new(), Vec::new());
        for (program, nodes) in runtimes.iter().enumerate() {
            node_rows
                .extend(nodes.iter().map(|node| node_cells(node, name(program, node.said.identity.node))));
            workers.extend(rates(nodes, self.order).into_iter().map(|worker| (program, worker)));
            for ((node, peer, route), traffic) in peers(nodes) {
                peer_rows.push(peer_cells(route, &traffic, name(program, node), name(program, peer)));
            }
        }
        workers.sort_by(|(_, one), (_, other)| other.key(self.order).total_cmp(&one.key(self.order)));
        let cells =
            |(program, worker): &(usize, Rates<'_>)| worker_cells(worker, name(*program, worker.node));
        let found = running(&nodes.iter().collect::<Vec<_>>()).into_iter();
        let found = found.map(|(what, share)| vec![format!("{:.1} %", share * 100.0), printable(&what)]);
        [
            self.part(&NODE_TITLES, node_rows),
            self.part(&WORKER_TITLES, workers.iter().map(cells).collect()),
            self.part(&PEER_TITLES, peer_rows),
            self.part(&RUNNING_TITLES, found.collect()),
        ]
    }

    /// The rows that pass the filter.
    fn part(&self, titles: &'static [&'static str], mut rows: Vec<Vec<String>>) -> ScreenPart {
        let filter = self.filter.to_lowercase();
        rows.retain(|row| row.join(" ").to_lowercase().contains(&filter));
        ScreenPart { titles, rows }
    }
}

fn node_cells(node: &SeenNode<NodeActivity>, name: String) -> Vec<String> {
    let SeenNode { place, said } = node;
    let workers = said.metrics.workers.len();
    let rates = rates(&[node], Order::Worker);
    let busy: f64 = rates.iter().map(|worker| worker.busy()).sum();
    let served: f64 = rates.iter().map(|worker| worker.served()).sum();
    let fibers: u64 = rates.iter().map(|worker| worker.of.fibers_alive).sum();
    let file = Path::new(&said.identity.program).file_name().unwrap_or_default().to_string_lossy();
    let program = match place {
        Some(place) => format!("application {}", place.application),
        None => file.into_owned(),
    };
    vec![
        name,
        place.as_ref().map_or_else(|| "here".to_owned(), |place| place.machine.clone()),
        said.identity.process.to_string(),
        workers.to_string(),
        percent(busy / workers.max(1) as f64),
        short(served),
        fibers.to_string(),
        printable(&program),
    ]
}

/// How high each part is: no part is cut while another has more than its share, and the chosen part gets what is left.
fn shared(room: u16, chosen: usize, parts: &[ScreenPart]) -> [u16; PARTS.len()] {
    let needs: Vec<u16> =
        parts.iter().map(|part| u16::try_from(part.rows.len() + 1).unwrap_or(u16::MAX)).collect();
    let mut smallest_first: Vec<usize> = (0..parts.len()).collect();
    smallest_first.sort_by_key(|place| needs[*place]);
    let (mut heights, mut left) = ([0; PARTS.len()], room);
    for (served, place) in smallest_first.into_iter().enumerate() {
        let share = left / u16::try_from(parts.len() - served).unwrap_or(1);
        heights[place] = needs[place].min(share);
        left -= heights[place];
    }
    heights[chosen] += left;
    heights
}

impl ScreenPart {
    /// This many rows of this many columns, without the rows above.
    fn table(&self, above: usize, rows: usize, columns: u16, is_chosen: bool) -> Table<'static> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let title = self.titles.get(column).map_or(0, |title| title.len());
            cells.max().unwrap_or(0).max(title).max(LEAST)
        };
        let last = self.titles.len() - 1;
        let widths: Vec<usize> = (0..last).map(width).collect();
        let left = usize::from(columns).saturating_sub(widths.iter().map(|width| width + 1).sum());
        let lengths = widths.iter().map(|width| u16::try_from(*width).unwrap_or(u16::MAX));
        let constraints: Vec<Constraint> =
            lengths.map(Constraint::Length).chain([Constraint::Fill(1)]).collect();
        let mark = if is_chosen { Modifier::REVERSED } else { Modifier::UNDERLINED };
        let header = Row::new(self.titles.iter().copied()).style(mark);
        let cells = |row: &Vec<String>| {
            let cell = |(column, cell): (usize, &String)| match column == last {
                true => ending(cell, left),
                false => cell.clone(),
            };
            Row::new(row.iter().enumerate().map(cell).collect::<Vec<_>>())
        };
        let shown: Vec<Row<'static>> = self.rows.iter().skip(above).take(rows).map(cells).collect();
        Table::new(shown, constraints).header(header).column_spacing(1)
    }
}

/// The end of a text, which has the line that was found running, in this many columns.
fn ending(text: &str, columns: usize) -> String {
    const CUT: &str = "...";
    let over = text.chars().count().saturating_sub(columns);
    match over {
        0 => text.to_owned(),
        _ => CUT.chars().chain(text.chars().skip(over + CUT.len())).take(columns).collect(),
    }
}
