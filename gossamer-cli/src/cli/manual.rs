//! The manual pages: those of `clap_mangen`, whose synopsis would leave out the values of options.

use clap::{Arg, Command};
use clap_mangen::Man;
use std::io;
use std::path::Path;

/// Writes the page of a command and those of its subcommands into a directory.
///
/// # Errors
/// If they cannot be written.
pub fn write(command: Command, directory: &Path) -> io::Result<()> {
    let command = with_synopses(command);
    for command in command.get_subcommands().chain([&command]) {
        let page = rendered(command.clone())?;
        std::fs::write(directory.join(Man::new(command.clone()).get_filename()), page)?;
    }
    Ok(())
}

/// The page of a command.
///
/// # Errors
/// None, since it is written to memory.
pub fn page(command: Command) -> io::Result<Vec<u8>> {
    rendered(with_synopses(command))
}

/// A page, with the version in its footer also where it is that of a subcommand.
fn rendered(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).source(concat!("gossamer ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(with_sections(&String::from_utf8_lossy(&page)).into_bytes())
}

/// A page with sections of its own for examples and for the exit status, whose columns stay columns, in place of a section
/// for all that follows the options.
fn with_sections(page: &str) -> String {
    const EXTRA: &str = "\n.SH EXTRA\n";
    let Some((before, rest)) = page.split_once(EXTRA) else { return page.to_owned() };
    let (extra, after) = rest.split_at(rest.find("\n.SH ").map_or(rest.len(), |end| end + 1));
    let (mut sections, mut notes) = (String::new(), String::new());
    for block in extra.trim_end().split("\n\n") {
        match block.split_once(":\n") {
            Some((title, lines)) if lines.starts_with("  ") => {
                sections += &format!(".SH {}\n.nf\n{}\n.fi\n", title.to_uppercase(), without_margin(lines));
            }
            _ => notes += &format!(".PP\n{block}\n"),
        }
    }
    if !notes.is_empty() {
        sections += &format!(".SH NOTES\n{notes}");
    }
    format!("{before}\n{sections}{after}")
}

/// Lines from the left edge on, where a dot or an apostrophe would begin a request to the formatter.
fn without_margin(lines: &str) -> String {
    let flush = lines.lines().map(|line| {
        let line = line.strip_prefix("  ").unwrap_or(line);
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
    });
    flush.collect::<Vec<_>>().join("\n")
}

/// A command, and those below it, with the synopsis of each as its usage.
fn with_synopses(command: Command) -> Command {
    // Pages of `help` say nothing.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    with_synopsis(command)
}

fn with_synopsis(command: Command) -> Command {
    let synopsis = synopsis(&command);
    command.override_usage(synopsis).mut_subcommands(with_synopsis)
}

fn synopsis(command: &Command) -> String {
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let options = shown().filter(|argument| !argument.is_positional());
    let (required, optional): (Vec<_>, Vec<_>) = options.partition(|option| option.is_required_set());
    let mut words = vec![command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned()];
    words.extend(optional.into_iter().map(|option| format!("[{}]", form(option))));
    words.extend(required.into_iter().map(form));
    words.extend(shown().filter(|argument| argument.is_positional()).map(Arg::to_string));
    words.extend(command.has_subcommands().then(|| "<COMMAND>".to_owned()));
    words.join(" ")
}

/// `-n|--nodes <NODES>`
fn form(option: &Arg) -> String {
    let names = [
        option.get_short().map(|short| format!("-{short}")),
        option.get_long().map(|long| format!("--{long}")),
    ];
    let mut form = names.into_iter().flatten().collect::<Vec<_>>().join("|");
    if option.get_action().takes_values() {
        let may_be_left_out = option.get_num_args().is_some_and(|values| values.min_values() == 0);
        for name in option.get_value_names().unwrap_or_default() {
            form += &if may_be_left_out { format!("[=<{name}>]") } else { format!(" <{name}>") };
        }
    }
    form
}
