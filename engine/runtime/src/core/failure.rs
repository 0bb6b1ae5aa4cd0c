//! When user code fails: what is reported, and when a task has failed too often.
//!
//! Invariants: nothing of a user's gets away from here. Whatever runs it goes through [`caught`], and what it leaves
//! behind (values, errors, what a panic carries) is shown and dropped here, since showing and dropping are user code too.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ringstorm_types::{ComponentId, TaskId};

use crate::error::BoxError;

/// A failure of user code, for the log, the metrics and, when fatal, the end of the run.
#[derive(Debug, Clone)]
pub(crate) struct TaskFailure {
    pub(crate) component: ComponentId,
    pub(crate) task: TaskId,
    pub(crate) text: String,
    /// The run cannot go on.
    pub(crate) fatal: bool,
}

/// Failures older than this no longer count.
const FAILURE_WINDOW_NS: u64 = 60_000_000_000;

/// Recent failures of one task.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    times_ns: VecDeque<u64>,
}

impl Failures {
    /// Notes a failure and says how many there were within the last minute.
    pub(crate) fn add(&mut self, now_ns: u64) -> u32 {
        while self.times_ns.front().is_some_and(|time_ns| now_ns.saturating_sub(*time_ns) > FAILURE_WINDOW_NS) {
            self.times_ns.pop_front();
        }
        self.times_ns.push_back(now_ns);
        u32::try_from(self.times_ns.len()).unwrap_or(u32::MAX)
    }
}

/// Why a task is not rebuilt any more.
pub(crate) fn too_often(limit: u32) -> String {
    format!("it has failed {limit} times within a minute, which is ringstorm.task.failure.limit, so the run ends")
}

/// Runs user code. Where it panics, what it said is the error.
#[inline]
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).map_err(end_of_panic)
}

/// Drops what users made. Says so if that panicked.
pub(crate) fn drop_safely(value: impl Sized) -> Option<String> {
    caught(|| drop(value)).err().map(|text| format!("panicked: {text}"))
}

/// Drops all values, although dropping some of them may panic; then panics itself with the first of what they said.
pub(crate) fn drop_each<T>(values: impl IntoIterator<Item = T>) {
    let mut texts: Vec<String> = values.into_iter().filter_map(drop_safely).collect();
    if !texts.is_empty() && !std::thread::panicking() {
        std::panic::panic_any(texts.swap_remove(0));
    }
}

/// What an error says; it is dropped.
#[cold]
pub(crate) fn error_text(error: BoxError) -> String {
    let text = caught(|| error.to_string());
    let text = text.unwrap_or_else(|panic| format!("an error that cannot be shown, since that panicked: {panic}"));
    match drop_safely(error) {
        None => text,
        Some(dropped) => format!("{text}; dropping this error {dropped}"),
    }
}

/// What came of rebuilding a task: adds to `text` what went wrong in `doing` it, and returns whether something did.
pub(crate) fn rebuild_failed(text: &mut String, doing: &str, rebuilt: Result<crate::Result, String>) -> bool {
    let why = match rebuilt {
        Ok(Ok(())) => return false,
        Ok(Err(error)) => format!("failed: {}", error_text(error)),
        Err(panic) => format!("panicked: {panic}"),
    };
    text.push_str(&format!("; {doing} {why}"));
    true
}

/// What a panic said; what it carried is dropped.
#[cold]
pub(crate) fn end_of_panic(panic: Box<dyn Any + Send>) -> String {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    if let Some(text) = said.or_else(|| panic.downcast_ref::<String>().cloned()) {
        return text;
    }
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(panic))) {
        Ok(()) => "without a message".to_owned(),
        Err(again) => {
            // It could go on like this for ever: this one stays where it is.
            Box::leak(again);
            "without a message, and dropping what it carried panicked too".to_owned()
        }
    }
}

/// Code that a user gave for as long as a topology lives, such as a factory. If its drop panics, whoever drops it last
/// goes on; the words are left where the end of a run looks for them.
pub(crate) struct Guarded<F> {
    /// There until the drop.
    code: Option<F>,
    last_words: LastWords,
}

/// What the drops of a component's [`Guarded`] code said, if they panicked.
pub(crate) type LastWords = Arc<Mutex<Vec<String>>>;

impl<F> Guarded<F> {
    pub(crate) fn new(code: F, last_words: &LastWords) -> Self {
        Self { code: Some(code), last_words: Arc::clone(last_words) }
    }

    pub(crate) fn get(&self) -> &F {
        self.code.as_ref().expect("it is there until the drop")
    }

    pub(crate) fn get_mut(&mut self) -> &mut F {
        self.code.as_mut().expect("it is there until the drop")
    }
}

impl<F> Drop for Guarded<F> {
    fn drop(&mut self) {
        if let Some(text) = drop_safely(self.code.take()) {
            self.last_words.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics when it is dropped, and carries another bomb then, for so many times.
    #[derive(Debug)]
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Self(self.0 - 1));
            }
        }
    }

    impl std::fmt::Display for Bomb {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            std::panic::panic_any(Self(1));
        }
    }

    impl std::error::Error for Bomb {}

    #[test]
    fn what_a_panic_carries_gets_nowhere() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| -> u32 { panic!("a {}", "text") }), Err("a text".to_owned()));
        assert_eq!(caught(|| std::panic::panic_any(0_u8)), Err("without a message".to_owned()));
        for depth in [1, 2, 100] {
            let text = caught(|| std::panic::panic_any(Bomb(depth))).unwrap_err();
            assert!(text.contains("dropping what it carried panicked"), "{text}");
        }
        assert_eq!(drop_safely(1), None);
        let text = drop_safely(Bomb(2)).unwrap();
        assert!(text.starts_with("panicked: without a message"), "{text}");
    }

    #[test]
    fn an_error_is_shown_and_dropped_whatever_that_does() {
        assert_eq!(error_text("no table".into()), "no table");
        let text = error_text(Box::new(Bomb(2)));
        assert!(text.contains("cannot be shown") && text.contains("dropping this error panicked"), "{text}");
    }

    #[test]
    fn all_are_dropped_and_the_first_has_its_say() {
        struct Counted<'a>(&'a std::cell::Cell<u32>, &'static str);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
                assert!(self.1.is_empty(), "{}", self.1);
            }
        }
        let count = std::cell::Cell::new(0);
        let values = ["", "first", "second", ""].map(|text| Counted(&count, text));
        let said = caught(|| drop_each(values));
        assert_eq!((said, count.get()), (Err("panicked: first".to_owned()), 4));
        assert_eq!(caught(|| drop_each([1, 2])), Ok(()));
    }

    #[test]
    fn guarded_code_leaves_its_words() {
        let words = LastWords::default();
        let guarded = Guarded::new((7, Bomb(1)), &words);
        assert_eq!(guarded.get().0, 7);
        drop(guarded);
        assert_eq!(words.lock().unwrap().len(), 1);
        drop(Guarded::new(7, &words));
        assert_eq!(words.lock().unwrap().len(), 1);
    }
}
