//! Levels of loggers: what components say by the crate `log` goes to the worker's log, as far as `set_log_level` lets it.
//!
//! A logger is a target of `log`, which is the path of a module unless it is said. A level is for it and for all below it
//! (`words` for `words::split`; `words.split` means the same, as Storm's names do), the nearest above counts, and `ROOT` is
//! above all. Without one it is `INFO`, as in Storm's workers. A level with a time ends by itself at that time by this
//! host's clock, whoever says anything then.
//!
//! The worker's own lines are those of the logger [`OWN`].
//!
//! Threading: levels lie behind a lock that nobody holds while he writes. There is one for the process, since `log` has one
//! logger. Errors: a level that nobody knows is passed over, as it is by Storm.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use log::{Level, LevelFilter, Log, Metadata, Record};
use ringstorm_records::records::LogConfig;

use crate::lines;

/// The logger of the worker itself.
pub(crate) const OWN: &str = "ringstorm";
/// Storm's name of the logger above all.
const ROOT: &str = "ROOT";
/// Where nobody has set a level.
const DEFAULT: LevelFilter = LevelFilter::Info;

static LEVELS: RwLock<Levels> = RwLock::new(Levels::new());

/// Levels by logger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Levels(BTreeMap<String, SetLevel>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SetLevel {
    level: LevelFilter,
    /// In milliseconds since 1970, and what follows, if something other than what is above it.
    end: Option<(i64, Option<LevelFilter>)>,
}

impl Levels {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    fn of(config: &LogConfig) -> Self {
        let levels = config.named_logger_level.iter().flatten().filter_map(|(logger, level)| {
            let after = level.reset_log_level.as_deref().and_then(filter_of);
            let end = level.reset_log_level_timeout_epoch.map(|end_ms| (end_ms, after));
            let level = filter_of(level.target_log_level.as_deref()?)?;
            Some((logger.replace('.', "::"), SetLevel { level, end }))
        });
        Self(levels.collect())
    }

    /// What is said of a target at this millisecond since 1970. It is asked for only where a level has an end.
    fn filter(&self, target: &str, now_ms: impl Fn() -> i64) -> LevelFilter {
        let in_force = |logger: &str| {
            let set = self.0.get(logger)?;
            match set.end {
                Some((end_ms, after)) if now_ms() >= end_ms => after,
                _ => Some(set.level),
            }
        };
        let above = target.match_indices("::").map(|(end, _)| &target[..end]);
        let named = std::iter::once(target).chain(above.collect::<Vec<_>>().into_iter().rev()).find_map(in_force);
        named.or_else(|| in_force(ROOT)).unwrap_or(DEFAULT)
    }

    /// Nothing is said above this.
    fn most(&self) -> LevelFilter {
        let set = self.0.values().flat_map(|set| [Some(set.level), set.end.and_then(|(_, after)| after)]);
        set.flatten().max().unwrap_or(DEFAULT).max(DEFAULT)
    }
}

/// Storm's levels, of which `log` has no `FATAL`.
fn filter_of(level: &str) -> Option<LevelFilter> {
    Some(match level {
        "ALL" | "TRACE" => LevelFilter::Trace,
        "DEBUG" => LevelFilter::Debug,
        "INFO" => LevelFilter::Info,
        "WARN" => LevelFilter::Warn,
        "ERROR" | "FATAL" => LevelFilter::Error,
        "OFF" => LevelFilter::Off,
        _ => return None,
    })
}

/// Takes levels over, from now on and for all threads.
pub(crate) fn set(config: &LogConfig) {
    let levels = Levels::of(config);
    log::set_max_level(levels.most());
    *LEVELS.write().unwrap_or_else(PoisonError::into_inner) = levels;
}

/// Whether something is said by a logger at a level.
pub(crate) fn is_said(target: &str, level: Level) -> bool {
    let now_ms = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    };
    level <= LEVELS.read().unwrap_or_else(PoisonError::into_inner).filter(target, now_ms)
}

/// The logger of the process.
struct Lines;

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_said(metadata.target(), metadata.level())
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_ascii_lowercase();
            lines::line(&format!("{level}: {}: {}", record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}

/// Makes this the logger of the process; false if the topology has brought one of its own, which says what it likes.
pub(crate) fn install() -> bool {
    log::set_logger(&Lines).map(|()| log::set_max_level(DEFAULT)).is_ok()
}

#[cfg(test)]
mod tests {
    use ringstorm_records::records::{LogLevel, LogLevelAction};

    use super::*;

    fn config(levels: &[(&str, &str, Option<i64>)]) -> LogConfig {
        let level = |target: &str, end_ms| LogLevel {
            action: LogLevelAction::Update,
            target_log_level: Some(target.to_owned()),
            reset_log_level_timeout_secs: None,
            reset_log_level_timeout_epoch: end_ms,
            reset_log_level: None,
            unknown: Default::default(),
        };
        let levels = levels.iter().map(|(logger, target, end_ms)| ((*logger).to_owned(), level(target, *end_ms)));
        LogConfig { named_logger_level: Some(levels.collect()), ..LogConfig::default() }
    }

    fn at(levels: &Levels, target: &str, now_ms: i64) -> LevelFilter {
        levels.filter(target, || now_ms)
    }

    #[test]
    fn the_nearest_level_above_a_logger_counts() {
        let levels = Levels::of(&config(&[
            ("ROOT", "WARN", None),
            ("words", "DEBUG", None),
            ("words.split", "OFF", None),
            ("odd", "LOUD", None),
        ]));
        for (target, wanted) in [
            ("words", LevelFilter::Debug),
            ("words::count", LevelFilter::Debug),
            ("words::split", LevelFilter::Off),
            ("words::split::inner", LevelFilter::Off),
            ("wordsmith", LevelFilter::Warn),
            ("odd", LevelFilter::Warn),
            ("", LevelFilter::Warn),
        ] {
            assert_eq!(at(&levels, target, 0), wanted, "{target:?}");
        }
        assert_eq!(levels.most(), LevelFilter::Debug);
        assert_eq!(at(&Levels::new(), "words", 0), LevelFilter::Info);
    }

    #[test]
    fn a_level_with_a_time_ends_by_itself() {
        let mut timed = config(&[("words", "TRACE", Some(1000)), ("ROOT", "ERROR", Some(2000))]);
        let levels = Levels::of(&timed);
        let seen = [999, 1000, 1999, 2000].map(|now_ms| at(&levels, "words::split", now_ms));
        assert_eq!(seen, [LevelFilter::Trace, LevelFilter::Error, LevelFilter::Error, LevelFilter::Info]);
        // Some say what follows.
        let words = timed.named_logger_level.as_mut().unwrap().get_mut("words").unwrap();
        words.reset_log_level = Some("WARN".into());
        assert_eq!(at(&Levels::of(&timed), "words", 5000), LevelFilter::Warn);
    }

    #[test]
    fn what_is_set_holds_for_the_next_line() {
        assert!(install());
        assert!(!install(), "there is one already");
        assert!(is_said("words", Level::Info) && !is_said("words", Level::Debug));
        set(&config(&[("words", "DEBUG", Some(i64::MAX)), (OWN, "ERROR", None)]));
        assert!(is_said("words::split", Level::Debug) && log::log_enabled!(target: "words", Level::Debug));
        assert!(!is_said(OWN, Level::Info) && is_said(OWN, Level::Error));
        set(&config(&[("words", "DEBUG", Some(1))]));
        assert!(!is_said("words", Level::Debug));
        set(&LogConfig::default());
        assert!(is_said(OWN, Level::Info) && !log::log_enabled!(target: "words", Level::Debug));
    }
}
