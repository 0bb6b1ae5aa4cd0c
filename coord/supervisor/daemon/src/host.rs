//! What tells this host from others.
//!
//! Threading: plain data. Errors: what the system does not tell is left empty; a mark is only compared.

use ringstorm_supervisor::Host;

/// The host as a supervisor needs to know it, under the name by which others reach it.
pub fn this_host(name: &str) -> Host {
    let container = std::fs::read_link("/proc/self/ns/uts").map(|link| link.display().to_string()).unwrap_or_default();
    let mark = format!("{} {} {container}", boot_id(), line("/proc/sys/kernel/hostname"));
    Host { name: name.to_owned(), mark }
}

/// The kernel's number of its own start: after another one no process is what it was.
pub(crate) fn boot_id() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

fn line(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_itself_under_any_name() {
        assert_eq!(this_host("a").mark, this_host("b").mark);
        assert_eq!(boot_id().len(), 36);
    }
}
