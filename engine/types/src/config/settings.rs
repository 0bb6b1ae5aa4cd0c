//! The typed getters: each knows its key, its type, its range and its default.
//!
//! A getter reads the configuration it is called on and nothing else. For a setting that a component may override,
//! call it on the topology's configuration with the component's laid over it.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::{Config, ConfigError, Origin, keys};

/// Whether cores are pinned to CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorePlacement {
    /// Each core has a CPU of its own.
    Pinned,
    /// The operating system moves cores as it likes; they never spin.
    Unbound,
}

/// How connections between worker processes receive and send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketsSetting {
    /// On io_uring where the system allows it, otherwise by readiness.
    Auto,
    /// On io_uring; where the system does not allow it the worker does not start.
    Uring,
    /// By readiness: calls that do not wait, and epoll.
    Readiness,
}

/// Storm's `int` settings end here.
const INT_MAX: u64 = i32::MAX as u64;
/// Sizes in bytes end here (1 TiB), so that sums of a few never overflow.
const BYTES_MAX: u64 = 1 << 40;

impl Config {
    /// The tasks of `__acker`, and how many executors share them, whatever defaults would be.
    pub fn set_ackers(&mut self, tasks: u32, executors: u32, origin: &Origin) {
        self.set(keys::TOPOLOGY_ACKER_EXECUTORS, tasks, origin.clone());
        self.set(keys::ACKERS_SHARED_BY, executors, origin.clone());
    }

    /// How many executors share the tasks of `__acker`, if that was [set](Self::set_ackers); otherwise each has one.
    pub(crate) fn ackers_shared_by(&self) -> Option<u32> {
        self.get(keys::ACKERS_SHARED_BY)?.as_u64().and_then(|count| u32::try_from(count).ok())
    }

    /// [`keys::TOPOLOGY_WORKERS`].
    ///
    /// # Errors
    /// [`ConfigError::BadValue`], as for every getter.
    pub fn workers(&self) -> Result<u32, ConfigError> {
        self.count(keys::TOPOLOGY_WORKERS, 1..=INT_MAX, keys::DEFAULT_WORKERS)
    }

    /// [`keys::TOPOLOGY_ACKER_EXECUTORS`]; 0 turns acking off.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn acker_executors(&self) -> Result<Option<u32>, ConfigError> {
        self.optional_count(keys::TOPOLOGY_ACKER_EXECUTORS, 0..=u64::from(keys::MAX_TASKS))
    }

    /// [`keys::TOPOLOGY_TASKS`], of a component.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn tasks(&self) -> Result<Option<u32>, ConfigError> {
        self.optional_count(keys::TOPOLOGY_TASKS, 1..=u64::from(keys::MAX_TASKS))
    }

    /// [`keys::TOPOLOGY_MAX_TASK_PARALLELISM`].
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn max_task_parallelism(&self) -> Result<Option<u32>, ConfigError> {
        self.optional_count(keys::TOPOLOGY_MAX_TASK_PARALLELISM, 1..=INT_MAX)
    }

    /// [`keys::TOPOLOGY_MAX_SPOUT_PENDING`], for each task; `None` when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn max_spout_pending(&self) -> Result<Option<u32>, ConfigError> {
        self.optional_count(keys::TOPOLOGY_MAX_SPOUT_PENDING, 1..=INT_MAX)
    }

    /// [`keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS`], in seconds.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn message_timeout_secs(&self) -> Result<u32, ConfigError> {
        self.count(keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS, 1..=INT_MAX, keys::DEFAULT_MESSAGE_TIMEOUT_SECS)
    }

    /// [`keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS`]; true when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn enable_message_timeouts(&self) -> Result<bool, ConfigError> {
        self.flag(keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, true)
    }

    /// [`keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS`], in seconds; `None` means no ticks. Fractions down to a millisecond
    /// are an extension: Storm takes whole seconds.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn tick_tuple_freq_secs(&self) -> Result<Option<f64>, ConfigError> {
        self.optional_number(keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, 0.001..=f64::from(i32::MAX))
    }

    /// [`keys::TOPOLOGY_STATS_SAMPLE_RATE`]: checked and otherwise unused, because every tuple is counted.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn stats_sample_rate(&self) -> Result<f64, ConfigError> {
        let rate = self.optional_number(keys::TOPOLOGY_STATS_SAMPLE_RATE, 0.000_000_001..=1.0)?;
        Ok(rate.unwrap_or(keys::DEFAULT_STATS_SAMPLE_RATE))
    }

    /// [`keys::TOPOLOGY_DISABLE_LOADAWARE_MESSAGING`]; false when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn disable_loadaware_messaging(&self) -> Result<bool, ConfigError> {
        self.flag(keys::TOPOLOGY_DISABLE_LOADAWARE_MESSAGING, false)
    }

    /// [`keys::TOPOLOGY_DEBUG`]; false when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn debug(&self) -> Result<bool, ConfigError> {
        self.flag(keys::TOPOLOGY_DEBUG, false)
    }

    /// [`keys::TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL`].
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn max_error_report_per_interval(&self) -> Result<u32, ConfigError> {
        let default = keys::DEFAULT_MAX_ERROR_REPORT_PER_INTERVAL;
        self.count(keys::TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL, 1..=INT_MAX, default)
    }

    /// [`keys::TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS`], in seconds.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn error_throttle_interval_secs(&self) -> Result<u32, ConfigError> {
        let default = keys::DEFAULT_ERROR_THROTTLE_INTERVAL_SECS;
        self.count(keys::TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS, 1..=INT_MAX, default)
    }

    /// [`keys::TOPOLOGY_TUPLE_MAX_BYTES`]: 64 bytes to 1 GiB.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn tuple_max_bytes(&self) -> Result<usize, ConfigError> {
        self.size(keys::TOPOLOGY_TUPLE_MAX_BYTES, 64..=1 << 30, keys::DEFAULT_TUPLE_MAX_BYTES)
    }

    /// [`keys::WORKER_CORES`]; `None` means as many as there are usable CPUs.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_cores(&self) -> Result<Option<usize>, ConfigError> {
        let cores = self.optional_integer(keys::WORKER_CORES, 1..=keys::MAX_WORKER_CORES as u64)?;
        Ok(cores.map(|cores| cores as usize))
    }

    /// [`keys::CORES_ALWAYS_SPIN`]; false when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn cores_always_spin(&self) -> Result<bool, ConfigError> {
        self.flag(keys::CORES_ALWAYS_SPIN, false)
    }

    /// [`keys::CORES_PLACEMENT`]; pinned when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn cores_placement(&self) -> Result<CorePlacement, ConfigError> {
        let Some((value, origin)) = self.given(keys::CORES_PLACEMENT) else { return Ok(CorePlacement::Pinned) };
        match value.as_str() {
            Some("pinned") => Ok(CorePlacement::Pinned),
            Some("unbound") => Ok(CorePlacement::Unbound),
            _ => Err(ConfigError::bad_value(keys::CORES_PLACEMENT, value, origin, "\"pinned\" or \"unbound\"")),
        }
    }

    /// [`keys::WORKER_LISTEN`]: addresses, by worker; none when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_listen(&self) -> Result<Vec<String>, ConfigError> {
        self.addresses(keys::WORKER_LISTEN)
    }

    /// [`keys::WORKER_DIAL`]: addresses, by worker; none when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_dial(&self) -> Result<Vec<String>, ConfigError> {
        self.addresses(keys::WORKER_DIAL)
    }

    /// [`keys::WORKER_LAUNCH`]: words, by worker; none when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_launch(&self) -> Result<Vec<Vec<String>>, ConfigError> {
        let Some((value, origin)) = self.given(keys::WORKER_LAUNCH) else { return Ok(Vec::new()) };
        let words = value.as_array().and_then(|workers| workers.iter().map(texts).collect());
        words.ok_or_else(|| ConfigError::bad_value(keys::WORKER_LAUNCH, value, origin, "a list of lists of words"))
    }

    /// [`keys::WORKER_SOCKETS`]; `auto` when unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_sockets(&self) -> Result<SocketsSetting, ConfigError> {
        let Some((value, origin)) = self.given(keys::WORKER_SOCKETS) else { return Ok(SocketsSetting::Auto) };
        match value.as_str() {
            Some("auto") => Ok(SocketsSetting::Auto),
            Some("io_uring") => Ok(SocketsSetting::Uring),
            Some("readiness") => Ok(SocketsSetting::Readiness),
            _ => {
                let wanted = "\"auto\", \"io_uring\" or \"readiness\"";
                Err(ConfigError::bad_value(keys::WORKER_SOCKETS, value, origin, wanted))
            }
        }
    }

    fn addresses(&self, key: &'static str) -> Result<Vec<String>, ConfigError> {
        let Some((value, origin)) = self.given(key) else { return Ok(Vec::new()) };
        let is_address = |text: &String| {
            text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        let addresses = texts(value).filter(|addresses| addresses.iter().all(is_address));
        addresses.ok_or_else(|| ConfigError::bad_value(key, value, origin, "a list of texts such as \"host:6700\""))
    }

    /// [`keys::RING_CELLS`]: a power of two from 2 to 65536.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn ring_cells(&self) -> Result<usize, ConfigError> {
        let Some((value, origin)) = self.given(keys::RING_CELLS) else { return Ok(keys::DEFAULT_RING_CELLS) };
        match value.as_u64() {
            Some(cells @ 2..=65_536) if cells.is_power_of_two() => Ok(cells as usize),
            _ => Err(ConfigError::bad_value(keys::RING_CELLS, value, origin, "a power of two from 2 to 65536")),
        }
    }

    /// [`keys::FRAME_BYTES`]: 1 KiB to 16 MiB.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn frame_bytes(&self) -> Result<usize, ConfigError> {
        self.size(keys::FRAME_BYTES, 1 << 10..=16 << 20, keys::DEFAULT_FRAME_BYTES)
    }

    /// [`keys::INBOX_MARK_BYTES`]: 1 KiB to 1 TiB.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn inbox_mark_bytes(&self) -> Result<usize, ConfigError> {
        self.size(keys::INBOX_MARK_BYTES, 1 << 10..=BYTES_MAX, keys::DEFAULT_INBOX_MARK_BYTES)
    }

    /// [`keys::CYCLE_LIMIT_BYTES`]: 1 KiB to 1 TiB.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn cycle_limit_bytes(&self) -> Result<usize, ConfigError> {
        self.size(keys::CYCLE_LIMIT_BYTES, 1 << 10..=BYTES_MAX, keys::DEFAULT_CYCLE_LIMIT_BYTES)
    }

    /// [`keys::WORKER_ABSENCE_SECS`], in seconds, with fractions.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn worker_absence_secs(&self) -> Result<f64, ConfigError> {
        let seconds = self.optional_number(keys::WORKER_ABSENCE_SECS, 0.1..=f64::from(i32::MAX))?;
        Ok(seconds.unwrap_or(keys::DEFAULT_WORKER_ABSENCE_SECS))
    }

    /// [`keys::DRAIN_TIMEOUT_SECS`], in seconds, with fractions, down to a millisecond. Nothing ends in no time at all.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn drain_timeout_secs(&self) -> Result<f64, ConfigError> {
        let seconds = self.optional_number(keys::DRAIN_TIMEOUT_SECS, 0.001..=f64::from(i32::MAX))?;
        Ok(seconds.unwrap_or(keys::DEFAULT_DRAIN_TIMEOUT_SECS))
    }

    /// [`keys::TASK_FAILURE_LIMIT`].
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn task_failure_limit(&self) -> Result<u32, ConfigError> {
        self.count(keys::TASK_FAILURE_LIMIT, 1..=INT_MAX, keys::DEFAULT_TASK_FAILURE_LIMIT)
    }

    /// Every value that a getter refuses, in the order of the getters.
    pub fn check_values(&self) -> Vec<ConfigError> {
        [
            self.workers().err(),
            self.acker_executors().err(),
            self.tasks().err(),
            self.max_task_parallelism().err(),
            self.max_spout_pending().err(),
            self.message_timeout_secs().err(),
            self.enable_message_timeouts().err(),
            self.tick_tuple_freq_secs().err(),
            self.stats_sample_rate().err(),
            self.disable_loadaware_messaging().err(),
            self.debug().err(),
            self.max_error_report_per_interval().err(),
            self.error_throttle_interval_secs().err(),
            self.tuple_max_bytes().err(),
            self.worker_cores().err(),
            self.worker_listen().err(),
            self.worker_dial().err(),
            self.worker_absence_secs().err(),
            self.worker_launch().err(),
            self.worker_sockets().err(),
            self.cores_always_spin().err(),
            self.cores_placement().err(),
            self.ring_cells().err(),
            self.frame_bytes().err(),
            self.inbox_mark_bytes().err(),
            self.cycle_limit_bytes().err(),
            self.drain_timeout_secs().err(),
            self.task_failure_limit().err(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The value and origin of a key that is set to something other than null.
    pub fn given(&self, key: &str) -> Option<(&Value, &Origin)> {
        let setting = self.settings.get(key)?;
        (!setting.value.is_null()).then_some((&setting.value, &setting.origin))
    }

    /// A key that is true or false, or its default when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, ConfigError> {
        let Some((value, origin)) = self.given(key) else { return Ok(default) };
        value.as_bool().ok_or_else(|| ConfigError::bad_value(key, value, origin, "true or false"))
    }

    /// A key that is a whole number within a range; `None` when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn optional_integer(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, ConfigError> {
        let Some((value, origin)) = self.given(key) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let wanted = format!("a whole number from {} to {}", range.start(), range.end());
                Err(ConfigError::bad_value(key, value, origin, wanted))
            }
        }
    }

    /// A whole number within a range that ends at [`INT_MAX`] or before.
    fn optional_count(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u32>, ConfigError> {
        Ok(self.optional_integer(key, range)?.map(|count| count as u32))
    }

    fn count(&self, key: &str, range: RangeInclusive<u64>, default: u32) -> Result<u32, ConfigError> {
        Ok(self.optional_count(key, range)?.unwrap_or(default))
    }

    fn size(&self, key: &str, range: RangeInclusive<u64>, default: usize) -> Result<usize, ConfigError> {
        Ok(self.optional_integer(key, range)?.map_or(default, |size| size as usize))
    }

    /// A key that is a number within a range, fractions included; `None` when it is unset.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`].
    pub fn optional_number(&self, key: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, ConfigError> {
        let Some((value, origin)) = self.given(key) else { return Ok(None) };
        match value.as_f64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let wanted = format!("a number from {} to {}", range.start(), range.end());
                Err(ConfigError::bad_value(key, value, origin, wanted))
            }
        }
    }
}

/// The texts of a list; `None` if it is not a list of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}
