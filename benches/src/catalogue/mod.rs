//! What is measured: groups of tables, each of which asks a question and has contenders and an aim.

mod delegation;
mod files;
mod growth;
mod http;
mod local;
mod map;
mod nodes;
mod rack;
mod streams;

use crate::measure::{Measure, Setting};

/// How a table's figures are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Million operations per second: more is better.
    Rate,
    /// Nanoseconds per operation: less is better.
    Time,
    /// Gigabytes per second, of operations on this many bytes: more is better.
    Bytes(usize),
}

/// What a row is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// How many times as fast as this row the last leading row above it is.
    First,
    /// How many nanoseconds this row takes more than the table's last row.
    Over,
    /// How many times as long as the table's first row this row takes.
    Growth,
}

/// The aim for a row, in terms of the figure its table sets it against, or of its own nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Nothing is promised.
    None,
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// The leading row makes at least this many times as many operations per second of processor time.
    PerCpuAtLeast(f64),
    /// The row itself takes at most this many nanoseconds.
    Nanoseconds(f64),
}

/// A contender in a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name in the table.
    pub name: String,
    /// How it measures itself.
    pub measure: Measure,
    /// In which setting.
    pub setting: Setting,
    /// The aim for it.
    pub aim: Aim,
    /// Whether the rows below are set against this one, as against the first.
    pub leads: bool,
    /// A program that has to be installed for it.
    pub needs: Option<&'static str>,
}

/// A question, asked of several contenders.
#[derive(Clone, Debug)]
pub struct Table {
    /// A short name, for the command line.
    pub name: String,
    /// The question.
    pub title: String,
    /// How its figures are shown.
    pub unit: Unit,
    /// What the rows are compared with.
    pub against: Against,
    /// The contenders.
    pub rows: Vec<Row>,
}

/// Tables that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name, for the command line.
    pub name: &'static str,
    /// What a reader must know to read its tables.
    pub about: &'static str,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// Everything there is to measure.
#[must_use]
pub fn groups() -> Vec<Group> {
    vec![
        delegation::group(),
        local::group(),
        map::group(),
        growth::group(),
        nodes::group(),
        rack::group(),
        streams::group(),
        files::group(),
        http::group(),
    ]
}

fn row(name: impl Into<String>, measure: Measure, setting: Setting) -> Row {
    Row { name: name.into(), measure, setting, aim: Aim::None, leads: false, needs: None }
}

impl Row {
    fn aim(self, aim: Aim) -> Row {
        Row { aim, ..self }
    }

    fn needs(self, program: &'static str) -> Row {
        Row { needs: Some(program), ..self }
    }

    fn leads(self) -> Row {
        Row { leads: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_every_row_has_a_name_of_its_own() {
        let groups = groups();
        let mut tables: Vec<_> = groups.iter().flat_map(|group| &group.tables).collect();
        for table in &tables {
            let mut names: Vec<_> = table.rows.iter().map(|row| &row.name).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "in {}", table.name);
        }
        let all = tables.len();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables.dedup_by(|a, b| a.name == b.name);
        assert_eq!(tables.len(), all);
    }
}
