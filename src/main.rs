//! The command `lifecycle`.

fn main() -> std::process::ExitCode {
    lifecycle::cli::main()
}
