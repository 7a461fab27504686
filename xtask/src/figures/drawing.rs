//! Recordings as pictures. Our lines have cold colours and are solid, others have warm ones; points that were disturbed
//! in all rounds have a hollow mark.

use super::axis::Axis;
use super::catalogue::{Figure, Panel};
use super::recording::{Recording, Series, Summary};
use crate::failure::{Failure, Result};
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged as _;
use plotters::prelude::{
    Circle, Color as _, DrawingArea, IntoDrawingArea as _, LineSeries, PathElement, RGBColor, SVGBackend,
    Text, WHITE,
};
use plotters::style::{IntoFont as _, TextStyle};
use std::fs;
use std::path::Path;

const OURS: [RGBColor; 6] = [
    RGBColor(20, 80, 170),
    RGBColor(0, 150, 170),
    RGBColor(110, 80, 200),
    RGBColor(60, 150, 240),
    RGBColor(0, 110, 90),
    RGBColor(140, 140, 230),
];
const OTHERS: [RGBColor; 6] = [
    RGBColor(215, 80, 10),
    RGBColor(225, 165, 30),
    RGBColor(170, 30, 80),
    RGBColor(125, 125, 125),
    RGBColor(130, 90, 50),
    RGBColor(230, 110, 150),
];
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(225, 225, 225);

const PANEL: (u32, u32) = (450, 330);
const TITLE: u32 = 36;
const LINE: u32 = 18;
/// The width of a panel, in characters of small text.
const CHARACTERS: usize = 82;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Whether it is a line of Gossamer, or of a program on it.
pub(super) fn is_ours(name: &str) -> bool {
    ["gossamer", "hydra", "graph500"].iter().any(|ours| name.starts_with(ours))
}

/// Draws a recording into its file in a folder.
///
/// # Errors
/// The file cannot be written.
pub(super) fn draw(figure: &Figure, recording: &Recording, folder: &Path) -> Result<()> {
    let path = folder.join(format!("figure-{}.svg", figure.number));
    let failure = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    let text = picture(figure, recording).map_err(|error| failure(&error))?;
    fs::write(&path, text).map_err(|error| failure(&error))
}

fn picture(figure: &Figure, recording: &Recording) -> Drawn<String> {
    let of = |panel: usize| -> Vec<&Series> {
        recording.series.iter().filter(|series| series.panel == panel).collect()
    };
    let panels: Vec<_> = figure.panels.iter().enumerate().map(|(index, panel)| (panel, of(index))).collect();
    let panels: Vec<_> = panels.into_iter().filter(|(_, series)| !series.is_empty()).collect();
    let width = PANEL.0 * panels.len().max(1) as u32;
    let names = coloured(&panels.iter().flat_map(|(_, series)| series.clone()).collect::<Vec<_>>());
    let notes = notes(figure, recording, CHARACTERS * panels.len().max(1));
    let columns = panels.len().max(1);
    let lines = names.len().div_ceil(columns) as u32;
    let legend = TITLE + PANEL.1 + 6;
    let height = legend + LINE * (lines + notes.len() as u32 + 1);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!("{}. {}", figure.number, figure.title);
        root.draw(&Text::new(title, (14, 12), style(17)))?;
        for (place, (panel, series)) in panels.iter().enumerate() {
            let area = root.clone().shrink((PANEL.0 * place as u32, TITLE), PANEL);
            draw_panel(&area, panel, series, &names)?;
        }
        for (place, (name, colour)) in names.iter().enumerate() {
            let (column, row) = ((place % columns) as u32, (place / columns) as u32);
            let (x, y) = ((PANEL.0 * column + 24) as i32, (legend + LINE * row) as i32);
            root.draw(&PathElement::new(vec![(x, y + 6), (x + 22, y + 6)], colour.stroke_width(2)))?;
            root.draw(&Circle::new((x + 11, y + 6), 3, colour.filled()))?;
            root.draw(&Text::new((*name).to_owned(), (x + 30, y), style(12)))?;
        }
        for (row, note) in notes.iter().enumerate() {
            let y = legend + LINE * (lines + row as u32) + LINE / 2;
            root.draw(&Text::new(note.clone(), (24, y as i32), style(11)))?;
        }
        root.present()?;
    }
    Ok(text)
}

fn style(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// The names of these series, each once, with their colours.
fn coloured<'a>(series: &[&'a Series]) -> Vec<(&'a str, RGBColor)> {
    let (mut ours, mut others) = (OURS.iter().cycle(), OTHERS.iter().cycle());
    let mut found: Vec<(&str, RGBColor)> = Vec::new();
    for Series { name, .. } in series {
        if !found.iter().any(|(known, _)| known == name) {
            let colour = if is_ours(name) { ours.next() } else { others.next() };
            found.push((name, colour.copied().unwrap_or(INK)));
        }
    }
    found
}

fn draw_panel(area: &Area<'_>, panel: &Panel, series: &[&Series], names: &[(&str, RGBColor)]) -> Drawn<()> {
    let is_drawn = |point: &Summary| point.x > 0.0 && point.y > 0.0;
    let summaries = |series: &Series| -> Vec<Summary> {
        series.points.iter().map(|point| point.summary()).filter(is_drawn).collect()
    };
    let points: Vec<Summary> = series.iter().flat_map(|series| summaries(series)).collect();
    if points.is_empty() {
        return Ok(());
    }
    let x: Vec<f64> = points.iter().map(|point| point.x).collect();
    let y = points.iter().flat_map(|point| [point.least, point.y, point.most]);
    // What is not above 0 has no place on a logarithmic axis.
    let y: Vec<f64> = y.filter(|figure| *figure > 0.0).collect();
    let (x, y) = (Axis::new(panel.x.1, &x), Axis::new(panel.y.1, &y));
    let end = y.range().start;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, style(14))
        .margin(8)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(62)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(panel.x.0)
        .y_desc(panel.y.0)
        .label_style(style(12))
        .axis_desc_style(style(12))
        .bold_line_style(FAINT)
        .axis_style(INK)
        .draw()?;
    for series in series {
        let colour = names.iter().find(|(name, _)| *name == series.name).map_or(INK, |(_, colour)| *colour);
        let summaries = summaries(series);
        let line = summaries.iter().map(|point| (point.x, point.y));
        let width = if is_ours(&series.name) { 2 } else { 1 };
        chart.draw_series(LineSeries::new(line, colour.stroke_width(width)))?;
        for point in &summaries {
            let range = vec![(point.x, point.least.max(end)), (point.x, point.most)];
            chart.draw_series([PathElement::new(range, colour.mix(0.5))])?;
            let mark = if point.is_disturbed { WHITE.filled() } else { colour.filled() };
            chart.draw_series([Circle::new((point.x, point.y), 3, mark)])?;
            chart.draw_series([Circle::new((point.x, point.y), 3, colour)])?;
        }
    }
    Ok(())
}

/// The notes below a picture, in lines of at most this many characters.
fn notes(figure: &Figure, recording: &Recording, characters: usize) -> Vec<String> {
    let Recording { rounds, effort, machine, .. } = recording;
    let rounds = if *rounds == 1 {
        "One round".to_owned()
    } else {
        format!("Medians of {rounds} rounds, with the least and the most")
    };
    let mut notes =
        vec![format!("{rounds} ({effort}), on {} processors. {}", machine.processors, figure.note)];
    let all: Vec<Summary> =
        recording.series.iter().flat_map(|series| &series.points).map(|point| point.summary()).collect();
    let disturbed = all.iter().filter(|point| point.is_disturbed).count();
    if disturbed > 0 {
        notes
            .push(format!("Hollow: others disturbed all measurements of it ({disturbed} of {}).", all.len()));
    }
    if recording.interrupted {
        notes.push("The measurements were interrupted.".to_owned());
    }
    notes.extend(
        recording.missing.iter().map(|missing| format!("Missing: {}: {}.", missing.what, missing.why)),
    );
    notes.iter().flat_map(|note| wrapped(note, characters)).collect()
}

fn wrapped(text: &str, characters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.len() - 1;
        if !lines[line].is_empty() && lines[line].chars().count() + 1 + word.chars().count() > characters {
            lines.push(word.to_owned());
        } else if lines[line].is_empty() {
            lines[line].push_str(word);
        } else {
            lines[line] = format!("{} {word}", lines[line]);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::FIGURES;
    use super::super::recording::tests::recording;
    use super::*;

    #[test]
    fn a_picture_has_its_lines_and_says_what_is_missing_and_disturbed() {
        for figure in &FIGURES {
            let text = picture(figure, &recording(figure.number)).unwrap();
            for part in [
                "Others &amp; &lt;sons&gt;",
                "carrier pigeons: none is installed",
                "Hollow:",
                figure.panels[0].x.0,
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
            assert!(text.len() < 60_000);
        }
    }

    #[test]
    fn a_point_whose_least_sample_is_0_or_less_is_drawn_down_to_the_end_of_the_axis() {
        use super::super::recording::tests::sample;
        // Figure 4 has a logarithmic axis, figure 12 one that begins at 0.
        for number in [4, 12] {
            let figure = FIGURES.iter().find(|figure| figure.number == number).unwrap();
            let with = |least: f64| {
                let mut recording = Recording::new(number, "quick", Default::default());
                for y in [4.0, 8.0, least] {
                    recording.add(0, "Gossamer", "first", sample(10.0, y, false));
                }
                recording.add(0, "Gossamer", "second", sample(100.0, 8.0, false));
                picture(figure, &recording).unwrap()
            };
            let marks = |text: &str| text.matches("<circle").count();
            for least in [0.0, -1.0, -1e300] {
                let text = with(least);
                assert_eq!(marks(&text), marks(&with(1.0)), "{text}");
                let mut numbers = text.split(['"', ',', ' ']).filter_map(|word| word.parse::<f64>().ok());
                let outside = numbers.find(|number| !(-10.0..2_000.0).contains(number));
                assert_eq!(outside, None, "{text}");
            }
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let empty = Recording::new(4, "quick", Default::default());
        assert!(picture(&FIGURES[0], &empty).is_ok());
    }

    #[test]
    fn long_notes_have_several_lines() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
    }
}
