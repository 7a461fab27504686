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
    let more = match shell {
        Shell::Bash => BASH
            .replace("WITHOUT_FILES", &without_files(&command).join("|"))
            .replace("WITH_VALUES", &with_values(&command).join("|"))
            .replace("OPTIONS", &long_names(options_of_run(&command)).join(" ")),
        Shell::Fish => {
            script = without_options_of_programs(&script);
            FISH.replace("WITHOUT_FILES", &without_files(&command).join(" "))
                .replace("WITH_VALUES", &with_values(&command).join(" "))
                .replace("SHELLS", &names(Shell::value_variants().iter()))
                .replace("COMMANDS", &names(command.get_subcommands().map(Command::get_name)))
        }
        _ => String::new(),
    };
    script.extend_from_slice(more.as_bytes());
    script
}

/// A script for fish that offers the options of `run` only before the program.
fn without_options_of_programs(script: &[u8]) -> Vec<u8> {
    let of_run = "__fish_gossamer_using_subcommand run";
    let before = format!("{of_run}; and not __fish_gossamer_program_at >/dev/null");
    String::from_utf8_lossy(script).replace(of_run, &before).into_bytes()
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

/// The options of `run`.
fn options_of_run(command: &Command) -> impl Iterator<Item = &Arg> {
    let run = command.get_subcommands().filter(|command| command.get_name() == "run");
    run.flat_map(Command::get_arguments).filter(|argument| !argument.is_positional())
}

/// The long names of these options.
fn long_names<'a>(options: impl Iterator<Item = &'a Arg>) -> Vec<String> {
    options.filter_map(|option| option.get_long().map(|name| format!("--{name}"))).collect()
}

/// The names of the options of `run` whose value may be the next word.
fn with_values(command: &Command) -> Vec<String> {
    let options = || options_of_run(command).filter(|option| option.get_action().takes_values());
    let short = options().filter_map(|option| option.get_short().map(|name| format!("-{name}")));
    long_names(options()).into_iter().chain(short).collect()
}

/// Completes the program and its arguments as a command line of their own, with or without `--` before them, values after
/// `=`, and files where they are due.
const BASH: &str = r#"
_gossamer_words() {
    local index program="" current="$2" previous="$3"
    if [[ "${COMP_WORDS[1]}" == run ]]; then
        for ((index = 2; index < COMP_CWORD; index++)); do
            case "${COMP_WORDS[index]}" in
                --)
                    program=$((index + 1))
                    break
                    ;;
                WITH_VALUES)
                    # bash makes words of `=` and `:`, too.
                    [[ "${COMP_WORDS[index + 1]}" != = ]] || ((index++))
                    ((index++))
                    while [[ "${COMP_WORDS[index + 1]}" == : ]]; do ((index += 2)); done
                    ;;
                -*) ;;
                *)
                    program=$index
                    break
                    ;;
            esac
        done
        # A program may begin here. Without a letter of its name, the files of this directory are the better offer.
        if [[ -z "$program" && "$current" != -* ]] && ((index == COMP_CWORD)); then
            # Between two words, bash takes the second for the current one, and nothing of it.
            if [[ " ${COMP_WORDS[*]:COMP_CWORD} " == *" -- "* ]]; then
                COMPREPLY=($(compgen -W "OPTIONS" -- "$current"))
                compopt +o default +o bashdefault 2>/dev/null
                return
            fi
            [[ -z "$current" ]] || program=$index
        fi
        if [[ -n "$program" ]]; then
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$program"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$program"
            elif ((program == COMP_CWORD)); then
                COMPREPLY=($(compgen -c -- "$current"))
            else
                COMPREPLY=()
            fi
            return
        fi
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

/// Completes the program and its arguments as a command line of their own, with or without `--` before them, and the
/// arguments that are not files.
const FISH: &str = r#"
function __fish_gossamer_program_at
    set -l words (commandline -opc)
    test "$words[2]" = run
    or return 1
    set -l at 3
    while test $at -le (count $words)
        switch $words[$at]
            case --
                math $at + 1
                return
            case WITH_VALUES
                set at (math $at + 2)
            case '-*'
                set at (math $at + 1)
            case '*'
                echo $at
                return
        end
    end
    # A program may begin here. Without a letter of its name, the files of this directory are the better offer.
    set -l word (commandline -ct)
    test $at -eq (math (count $words) + 1) -a -n "$word"
    and not string match -q -- '-*' $word
    and echo $at
end

function __fish_gossamer_program
    set -l words (commandline -opc)
    set -l at (__fish_gossamer_program_at)
    or return
    set -l program (string escape -- $words[$at..])
    complete -C (string join ' ' -- $program (commandline -ct))
end

complete -c gossamer -n "__fish_gossamer_program_at >/dev/null" -f -a "(__fish_gossamer_program)"
complete -c gossamer -n "__fish_gossamer_needs_command" -f
complete -c gossamer -n "__fish_gossamer_using_subcommand WITHOUT_FILES" -f
complete -c gossamer -n "__fish_gossamer_using_subcommand completions" -f -a "SHELLS"
complete -c gossamer -n "__fish_gossamer_using_subcommand help" -f -a "COMMANDS"
"#;
