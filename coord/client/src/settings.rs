//! Whom a client asks, how often, and how long it waits.
//!
//! The machine itself makes no calls: [`Timeouts`] and [`ClientSettings::call_bytes_max`] are for whoever makes them.
//!
//! Threading: plain data. Errors: none.

use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::thrift::frame::SERVER_BYTES_MAX;

/// How long the parts of a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection, the look-up of the name included.
    pub connect: Duration,
    /// Until the whole call is handed to the kernel.
    pub send: Duration,
    /// From then until the whole answer is there (`storm.thrift.socket.timeout.ms`, where it is set).
    pub answer: Duration,
    /// As `answer`, of the question who leads, if that is shorter: a nimbus that hangs must not hold up whoever could ask
    /// another one.
    pub leader: Duration,
}

impl Default for Timeouts {
    /// 10 s, 30 s, 90 s and 10 s. Storm waits 600 s for an answer; a nimbus of ours says after 60 s at the latest that it does not
    /// know.
    fn default() -> Self {
        let (connect, leader) = (Duration::from_secs(10), Duration::from_secs(10));
        Self { connect, send: Duration::from_secs(30), answer: Duration::from_secs(90), leader }
    }
}

/// What can be set. Defaults are Storm's where it has the key.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Whom to ask who leads: each of `nimbus.seeds` with `nimbus.thrift.port`.
    pub seeds: Vec<NimbusAddress>,
    /// How often a request is tried again after a pause (`storm.nimbus.retry.times`).
    pub retry_times: u32,
    /// The first pause; it doubles with each further one (`storm.nimbus.retry.interval.millis`).
    pub retry_interval: Duration,
    /// The longest pause (`storm.nimbus.retry.intervalceiling.millis`).
    pub retry_interval_max: Duration,
    /// How long each call may take.
    pub timeouts: Timeouts,
    /// The longest call that a nimbus takes, in bytes (`nimbus.thrift.max_buffer_size`).
    pub call_bytes_max: usize,
}

impl Default for ClientSettings {
    /// Without seeds, which are for the caller to say.
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            retry_times: 5,
            retry_interval: Duration::from_secs(2),
            retry_interval_max: Duration::from_secs(60),
            timeouts: Timeouts::default(),
            call_bytes_max: SERVER_BYTES_MAX,
        }
    }
}

impl ClientSettings {
    /// The pause after so many others.
    pub fn pause(&self, pauses: u32) -> Duration {
        pause(self.retry_interval, self.retry_interval_max, pauses.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let settings = ClientSettings::default();
        let pauses = [0, 1, 4, 5, u32::MAX].map(|pauses| settings.pause(pauses).as_secs());
        assert_eq!(pauses, [2, 4, 32, 60, 60]);
    }
}
