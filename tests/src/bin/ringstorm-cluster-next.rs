//! The command line of a later version, as far as its daemons say so of themselves.

fn main() -> std::process::ExitCode {
    ringstorm_tools::run("2.8.2-ringstorm.9.9.9", std::env::args_os())
}
