//! What the help of commands has below their options: examples, and what each exit status means.

pub(super) const HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run -n 8 -- ./app input.txt           eight nodes on the machines of the rack
  gossamer status                                the machines, and the fabrics between them
  gossamer ps                                    what runs on them
  gossamer ps --all                              how nodes that ran on them have ended
  gossamer top                                   what the workers of programs here do
  gossamer stacks                                what their fibers do
  gossamer check-rdma --with b                   tries RDMA to the machine b
  gossamer recv                                  waits for files, and says how to send them

A rack needs the same key (`gossamer keygen /etc/gossamer/key`) and the same configuration
(/etc/gossamer/rack.toml) on every machine, and on each of them `gossamer daemon`.";

pub(super) const CHECK_RDMA_HELP: &str = "\
Examples:
  gossamer check-rdma                            the devices of this machine
  gossamer check-rdma --with b                   a queue pair to the machine b of rack.toml
  GOSSAMER_VERBS=mlx5_1:1 gossamer check-rdma --with b
                                                 by this port only

Exit status:
  0    RDMA can be used
  1    it cannot: the last lines say what is wrong, where, and what to do
  2    mistake on the command line, in a variable or in the configuration
  3    the other machine's daemon could not be reached, or is busy with another check";

pub(super) const RUN_HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run --local 1 --no-prefix -- ./app    one node, at the terminal
  gossamer run -- ./app                          one node on each machine of the rack
  gossamer run -n 8 --hosts a,b -- ./app         eight nodes, four on each of two machines
  gossamer run --per-machine 4 -- ./app          four nodes on each machine, 0 to 3 on the first one
  gossamer run --map a:4,b,c -- ./app            four nodes on a, then one on b and one on c
  gossamer run --fabric verbs -- ./app           by RDMA, or not at all; see gossamer check-rdma
  gossamer run --mem 4G --cpus 2 -- ./app        at most this much for each node
  gossamer run --output 'log.%n' -- ./app        what node 3 prints goes to the file log.3
  gossamer run --timeout 1h --report-on-timeout -- ./app
                                                 an hour at most, then a report of the nodes
  gossamer run --protection encrypted -- ./app   nobody on the way can read or change anything
  ./produce | gossamer run --local 2 -- ./app | less

Ctrl-C is passed on to all nodes, which then have 5 s to end; a second one kills
them. SIGTERM does the same, and so does a terminal that is closed, unless
`nohup` runs this.

Exit status:
  0    all nodes have ended well
  N    the status of the first node that failed, or 128 + its signal if a signal killed it
  1    a node ended with status 0, but before node 0
  2    mistake on the command line or in a configuration file
  3    a machine could not be reached, or could not start its nodes
  74   the output, or a file of --output, could not be written
  75   a machine was lost, or a node lost another one and no machine knows why
  124  the time of --timeout is up
  126  the program cannot be executed
  127  there is no such program
  129  its terminal was closed;  130  Ctrl-C;  143  SIGTERM
  141  the reader of standard output has closed it";

pub(super) const APPLICATION_HELP: &str = "\
Exit status:
  0    done
  1    there is no such application
  2    mistake on the command line or in a configuration file
  3    no daemon could be reached; if only some could not, they are named on standard error";

pub(super) const PS_HELP: &str = "\
Exit status:
  0    done; machines that could not be reached are named on standard error
  2    mistake on the command line or in a configuration file
  3    no daemon could be reached";

pub(super) const DAEMON_HELP: &str = "\
Exit status:
  0    a signal has ended it
  2    mistake on the command line or in a configuration file
  3    it cannot listen at its address, or start";

pub(super) const STATUS_HELP: &str = "\
Exit status:
  0    every machine has answered; with --health: the daemon is alive
  2    mistake on the command line or in a configuration file
  3    a machine has not answered; with --health: the daemon is not alive";

pub(super) const KEYGEN_HELP: &str = "\
Example:
  gossamer keygen /etc/gossamer/key              then copy it to all machines, as scp -p does

Only its owner may read the file: a daemon refuses a key that others can read. Anybody who has the
key can run programs on every machine of the rack.

Exit status:
  0    done
  1    the file exists already, or could not be written
  2    mistake on the command line";

pub(super) const COMPLETIONS_HELP: &str = "\
Where the script belongs, for all users, and for you alone:
  bash   /usr/share/bash-completion/completions/gossamer
         ~/.local/share/bash-completion/completions/gossamer, with the package bash-completion
  zsh    /usr/local/share/zsh/site-functions/_gossamer
         a file _gossamer in a directory of $fpath
  fish   /usr/share/fish/vendor_completions.d/gossamer.fish
         ~/.config/fish/completions/gossamer.fish

Examples:
  gossamer completions fish >~/.config/fish/completions/gossamer.fish
  source <(gossamer completions bash)            for this shell only

Exit status:
  0    done
  2    mistake on the command line
  74   the script could not be written";

pub(super) const MAN_HELP: &str = "\
Examples:
  gossamer man /usr/local/share/man/man1         for all users; then `man gossamer-run` works
  gossamer man ~/.local/share/man/man1           for you alone
  gossamer man | man -l -                        shows the page gossamer(1) at once

Exit status:
  0    done
  2    mistake on the command line
  74   the pages could not be written";
