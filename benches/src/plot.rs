//! Tables as bars: a picture of medians, with the range of the rounds.

use crate::catalogue::{Table, Unit};
use crate::measure::Measured;
use crate::statistics;
use plotters::prelude::{
    Circle, Color as _, DrawingArea, IntoDrawingArea as _, PathElement, RGBColor, Rectangle, SVGBackend,
    Text, WHITE,
};
use plotters::style::{BLACK, IntoFont as _, TextStyle};
use std::path::Path;

const WIDTH: u32 = 900;
/// Height of a bar with its room, and of a table's title.
const BAR: i32 = 26;
const TITLE: i32 = 44;
/// Where bars begin, and how long the longest is.
const LEFT: i32 = 360;
const LONGEST: f64 = 430.0;
const OURS: RGBColor = RGBColor(31, 119, 180);
const OTHERS: RGBColor = RGBColor(170, 170, 170);

/// A table with what was measured.
pub type Drawn = (Table, Vec<Measured>);

/// Draws tables of rates below each other.
///
/// # Errors
/// If the file cannot be written.
pub fn draw(file: &Path, tables: &[Drawn]) -> Result<(), Box<dyn std::error::Error>> {
    let height: i32 = tables.iter().map(|(table, _)| TITLE + BAR * table.rows.len() as i32).sum();
    let root = SVGBackend::new(file, (WIDTH, (height + TITLE / 2) as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut top = 0;
    for (table, measured) in tables {
        panel(&root, top, table, measured)?;
        top += TITLE + BAR * table.rows.len() as i32;
    }
    Ok(root.present()?)
}

type Root<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn panel(
    root: &Root<'_>,
    top: i32,
    table: &Table,
    measured: &[Measured],
) -> Result<(), Box<dyn std::error::Error>> {
    let (unit, factor) = match table.unit {
        Unit::Bytes(bytes) => ("GB/s", bytes as f64 / 1e3),
        Unit::Rate | Unit::Time => ("Mops/s", 1.0),
    };
    let text = |size: i32| TextStyle::from(("sans-serif", size).into_font()).color(&BLACK);
    root.draw(&Text::new(format!("{} ({unit})", table.title), (12, top + TITLE - 26), text(16)))?;
    let figures = |measured: &Measured| measured.figures(|sample| sample.rate() * factor);
    let highest = measured.iter().flat_map(&figures).fold(f64::MIN_POSITIVE, f64::max);
    for (index, (row, measured)) in table.rows.iter().zip(measured).enumerate() {
        let (y, figures) = (top + TITLE + BAR * index as i32, figures(measured));
        root.draw(&Text::new(row.name.clone(), (24, y + 4), text(13)))?;
        if figures.is_empty() {
            root.draw(&Text::new("not measured", (LEFT + 8, y + 4), text(13)))?;
            continue;
        }
        let at = |figure: f64| LEFT + (figure / highest * LONGEST) as i32;
        let (median, (low, high)) = (statistics::median(&figures), statistics::range(&figures));
        let colour = if row.name.starts_with("gossamer") { OURS } else { OTHERS };
        root.draw(&Rectangle::new([(LEFT, y), (at(median), y + BAR - 8)], colour.filled()))?;
        let middle = y + (BAR - 8) / 2;
        root.draw(&PathElement::new(vec![(at(low), middle), (at(high), middle)], BLACK))?;
        root.draw(&Circle::new((at(median), middle), 2, BLACK.filled()))?;
        root.draw(&Text::new(format!("{median:.2}"), (at(high) + 8, y + 4), text(13)))?;
    }
    Ok(())
}
