//! Two network namespaces with a link between them that can be taken down.
//!
//! Threading: used by one test of a process. Errors: whoever may not make any gets none; what was made goes with the value.

use std::process::{Command, Stdio};

/// Two network namespaces with a pair of interfaces between them.
#[derive(Debug)]
pub struct Namespaces([String; 2]);

impl Namespaces {
    /// `None` for whoever may not make any, which needs root and `ip`.
    pub fn new() -> Option<Self> {
        let of = |end: &str| format!("ringstorm-{}-{end}", std::process::id());
        let made = Self([of("a"), of("b")]);
        let [a, b] = &made.0;
        ip(&["netns", "add", a]).then_some(())?;
        assert!(ip(&["netns", "add", b]));
        assert!(ip(&["-n", a, "link", "add", "one", "type", "veth", "peer", "name", "two", "netns", b]));
        for (namespace, interface, address) in [(a, "one", "10.77.0.1/24"), (b, "two", "10.77.0.2/24")] {
            assert!(ip(&["-n", namespace, "addr", "add", address, "dev", interface]));
            assert!(ip(&["-n", namespace, "link", "set", interface, "up"]));
        }
        Some(made)
    }

    /// The settings by which each of two workers lives in one of them.
    pub fn settings(&self) -> [String; 2] {
        let launch = self.0.clone().map(|name| format!("[\"ip\",\"netns\",\"exec\",\"{name}\"]")).join(",");
        let listen = "ringstorm.worker.listen=[\"10.77.0.1:6700\",\"10.77.0.2:6700\"]";
        [format!("ringstorm.worker.launch=[{launch}]"), listen.to_owned()]
    }

    /// Takes the link `"up"` or `"down"`.
    pub fn set_link(&self, state: &str) {
        assert!(ip(&["-n", &self.0[0], "link", "set", "one", state]));
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for namespace in &self.0 {
            ip(&["netns", "del", namespace]);
        }
    }
}

fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
