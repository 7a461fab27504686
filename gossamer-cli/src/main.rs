//! The command `gossamer`.

fn main() -> ! {
    gossamer_cli::cli::dispatch::main()
}
