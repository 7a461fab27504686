//! Tasks of this workspace that Cargo does not know, as `cargo xtask`.

mod book_pages;
mod failure;
mod figures;
mod marked;
mod public_interface;
mod rdma_vm;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Tasks of this workspace
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run commands and tests in a virtual machine with RDMA over Ethernet in software (rdma_rxe)
    #[command(subcommand)]
    RdmaVm(rdma_vm::arguments::Action),
    BookPages(book_pages::BookPagesArguments),
    Figures(figures::arguments::FiguresArguments),
    PublicInterface(public_interface::PublicInterfaceArguments),
}

fn main() -> ExitCode {
    let done = match &Arguments::parse().task {
        Task::RdmaVm(action) => rdma_vm::run(action),
        Task::BookPages(arguments) => book_pages::run(arguments),
        Task::Figures(arguments) => figures::run(arguments),
        Task::PublicInterface(arguments) => public_interface::run(arguments),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            eprintln!("\n!!! {failure} !!!\n");
            ExitCode::from(failure.status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
