//! Scripts that complete the command line in a shell. They are those of `clap_complete`, mended for bash and fish,
//! where these do not know what an argument is, and take the options of the program that `run` starts for their own.

use clap::{Arg, Command, ValueEnum, ValueHint};
use clap_complete::Shell;

/// The script for a shell.
#[must_use]
pub fn script(shell: Shell, command: Command) -> Vec<u8> {
    let mut command = with_hints(command);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "gossamer", &mut script);
    let without_files = without_files(&command).join(if shell == Shell::Bash { "|" } else { " " });
    let more = match shell {
        Shell::Bash => BASH.replace("WITHOUT_FILES", &without_files),
        Shell::Fish => FISH
            .replace("WITHOUT_FILES", &without_files)
            .replace("SHELLS", &names(Shell::value_variants().iter()))
            .replace("COMMANDS", &names(command.get_subcommands().map(Command::get_name))),
        _ => String::new(),
    };
    script.extend_from_slice(more.as_bytes());
    script
}

fn names(all: impl Iterator<Item: ToString>) -> String {
    all.map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
}

/// A command whose arguments are files only where it says so.
fn with_hints(command: Command) -> Command {
    command.mut_subcommands(with_hints).mut_args(|argument| match argument.get_value_hint() {
        ValueHint::Unknown if argument.get_action().takes_values() => argument.value_hint(ValueHint::Other),
        // Only with that the script for bash completes names with spaces; it completes directories, too.
        ValueHint::AnyPath => argument.value_hint(ValueHint::FilePath),
        _ => argument,
    })
}

/// The subcommands whose arguments are not files; their options may take files.
fn without_files(command: &Command) -> Vec<&str> {
    let is_other = |argument: &Arg| argument.get_value_hint() == ValueHint::Other;
    let commands = command.get_subcommands().filter(|command| command.get_positionals().all(is_other));
    commands.map(Command::get_name).collect()
}

/// Completes what follows `--` as the command line of the program, values after `=`, and files where they are due.
const BASH: &str = r#"
_gossamer_words() {
    local index current="$2" previous="$3"
    if [[ "${COMP_WORDS[1]}" == run ]]; then
        for ((index = 2; index < COMP_CWORD; index++)); do
            [[ "${COMP_WORDS[index]}" == -- ]] || continue
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((index + 1))
            elif declare -F _command_offset >/dev/null; then
                _command_offset $((index + 1))
            elif ((index + 1 == COMP_CWORD)); then
                COMPREPLY=($(compgen -c -- "$current"))
            else
                COMPREPLY=()
            fi
            return
        done
    fi
    if [[ "$current" == = ]]; then
        current=""
    elif [[ "$previous" == = ]]; then
        previous="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    _gossamer "$1" "$current" "$previous"
    [[ "$current" != -* ]] || return 0
    # What has no completion is given back as it is.
    if [[ ${#COMPREPLY[@]} == 1 && "${COMPREPLY[0]}" == "$current" ]]; then
        compopt +o default +o bashdefault 2>/dev/null
    fi
    # Options are offered to those who ask for them, and otherwise files.
    local word words=()
    for word in "${COMPREPLY[@]}"; do
        [[ -z "$word" || "$word" == -* ]] || words+=("$word")
    done
    COMPREPLY=("${words[@]}")
    case "${COMP_WORDS[1]}" in
        WITHOUT_FILES)
            compopt +o default +o bashdefault 2>/dev/null
            ;;
    esac
    return 0
}

complete -F _gossamer_words -o bashdefault -o default gossamer
"#;

/// Completes what follows `--` as the command line of the program, and the arguments that are not files.
const FISH: &str = r#"
function __fish_gossamer_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    or return
    set -l program (string escape -- $words[(math $at + 1)..])
    complete -C (string join ' ' -- $program (commandline -ct))
end

complete -c gossamer -n "__fish_gossamer_using_subcommand run; and contains -- -- (commandline -opc)" -f -a "(__fish_gossamer_program)"
complete -c gossamer -n "__fish_gossamer_needs_command" -f
complete -c gossamer -n "__fish_gossamer_using_subcommand WITHOUT_FILES" -f
complete -c gossamer -n "__fish_gossamer_using_subcommand completions" -f -a "SHELLS"
complete -c gossamer -n "__fish_gossamer_using_subcommand help" -f -a "COMMANDS"
"#;
