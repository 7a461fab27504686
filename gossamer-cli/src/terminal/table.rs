//! Tables of text.

/// Rows of columns that are as wide as their widest cell.
#[derive(Debug)]
pub struct Table(Vec<Vec<String>>);

impl Table {
    /// With these titles.
    #[must_use]
    pub fn new(titles: &[&str]) -> Self {
        Self(vec![titles.iter().map(|title| (*title).to_owned()).collect()])
    }

    /// Adds a row. What machines report about themselves could control a terminal; here it cannot.
    pub fn add(&mut self, row: Vec<String>) {
        let clean = |cell: String| cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.0.push(row.into_iter().map(clean).collect());
    }

    /// As lines.
    #[must_use]
    pub fn text(&self) -> String {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column| {
            self.0.iter().filter_map(|row| row.get(column)).map(|cell: &String| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.0 {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line += &format!("{cell:width$}  ");
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// `3 d 4 h`
#[must_use]
pub fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, _, _) => format!("{days} d {hours} h"),
    }
}

/// `1.5 GiB`
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let unit = |shift: u32| bytes as f64 / (1u64 << shift) as f64;
    match bytes {
        0..0x400 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{:.1} KiB", unit(10)),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", unit(20)),
        _ => format!("{:.1} GiB", unit(30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["A", "LONG"]);
        table.add(vec!["wide\x1b".into(), "x".into()]);
        table.add(vec!["b".into()]);
        assert_eq!(table.text(), "A      LONG\nwide   x\nb\n");
    }

    #[test]
    fn times_and_sizes_have_fitting_units() {
        assert_eq!((duration(5), duration(65)), ("5 s".into(), "1 min 5 s".into()));
        assert_eq!((duration(3700), duration(90_000)), ("1 h 1 min".into(), "1 d 1 h".into()));
        assert_eq!((bytes(5), bytes(1536)), ("5 B".into(), "1.5 KiB".into()));
        assert_eq!((bytes(3 << 20), bytes(3 << 29)), ("3.0 MiB".into(), "1.5 GiB".into()));
    }
}
