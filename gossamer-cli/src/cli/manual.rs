//! The manual pages: those of `clap_mangen`, whose synopsis would leave out the values of options.

use clap::{Arg, Command};
use std::io;
use std::path::Path;

/// Writes the page of a command and those of its subcommands into a directory.
///
/// # Errors
/// If they cannot be written.
pub fn write(command: Command, directory: &Path) -> io::Result<()> {
    clap_mangen::generate_to(with_synopses(command), directory)
}

/// The page of a command.
///
/// # Errors
/// None, since it is written to memory.
pub fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(with_synopses(command)).render(&mut page)?;
    Ok(page)
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
