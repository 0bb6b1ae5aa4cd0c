//! The command line, where the suites can run it.

fn main() -> std::process::ExitCode {
    ringstorm_tools::main()
}
