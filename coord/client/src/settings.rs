//! Whom a client asks, and how often.
//!
//! Threading: plain data. Errors: none.

use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_records::payload::NimbusAddress;

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
}

impl Default for ClientSettings {
    /// Without seeds, which are for the caller to say.
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            retry_times: 5,
            retry_interval: Duration::from_secs(2),
            retry_interval_max: Duration::from_secs(60),
        }
    }
}

impl ClientSettings {
    /// The pause after so many others.
    pub(crate) fn pause(&self, pauses: u32) -> Duration {
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
