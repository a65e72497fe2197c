//! The command `lifecycle`.

fn main() -> std::process::ExitCode {
    lifecycle::quiet::silence_runtime();
    lifecycle::quiet::settle_memory();
    lifecycle::cli::main()
}
