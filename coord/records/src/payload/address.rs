//! Where a nimbus is reached, as the text `host:port:tlsPort`.
//!
//! It is the data of a candidate's node under `leader-lock`, and the front of the nodes that say who holds a blob.
//! Source: `NimbusInfo.toHostPortString` and `NimbusInfo.parse` of Storm 2.8.2.

use std::fmt;
use std::str::FromStr;

use crate::znode::NodeName;

/// The longest host name, in bytes: that of the domain name system.
const HOST_BYTES_MAX: usize = 255;

/// A nimbus: its host and ports. The host may become a part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NimbusAddress {
    host: String,
    port: u16,
    tls_port: u16,
}

/// A text that is no `host:port:tlsPort`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no address of a nimbus; one is host:port:tlsPort or host:port, with ports below 65536, and a host of 1 to \
     255 bytes that may be a part of a path, without blanks"
)]
pub struct InvalidAddress(pub String);

impl NimbusAddress {
    /// An address; `tls_port` is 0 when there is none.
    ///
    /// # Errors
    /// The host is longer than 255 bytes, holds white space, or is no [`NodeName`].
    pub fn new(host: &str, port: u16, tls_port: u16) -> Result<Self, InvalidAddress> {
        if host.len() > HOST_BYTES_MAX || host.contains(char::is_whitespace) || NodeName::new(host).is_err() {
            return Err(InvalidAddress(host.chars().take(HOST_BYTES_MAX).collect()));
        }
        Ok(Self { host: host.to_owned(), port, tls_port })
    }

    /// The host, as the nimbus calls itself.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The Thrift port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Thrift port with TLS, or 0.
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }
}

impl fmt::Display for NimbusAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.host, self.port, self.tls_port)
    }
}

impl FromStr for NimbusAddress {
    type Err = InvalidAddress;

    /// Reads both of Storm's forms. A host may hold colons, so ports are looked for from the end.
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.chars().take(2 * HOST_BYTES_MAX).collect());
        let (front, last) = text.rsplit_once(':').ok_or_else(invalid)?;
        let last = number(last).ok_or_else(invalid)?;
        let with_tls = front.rsplit_once(':').and_then(|(host, port)| Some((host, number(port)?)));
        let (host, port, tls_port) = with_tls.map_or((front, last, 0), |(host, port)| (host, port, last));
        Self::new(host, port, tls_port).map_err(|_| invalid())
    }
}

fn number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
