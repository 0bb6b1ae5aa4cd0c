//! The command `ringstorm`; everything is in the library, so that tests can run it too.

fn main() -> std::process::ExitCode {
    ringstorm_tools::main()
}
