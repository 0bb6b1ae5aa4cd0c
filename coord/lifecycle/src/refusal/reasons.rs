//! Reasons against something, as they are found: not more of them, and none longer, than somebody would read. What a client
//! sends may be wrong in a million places, each with a name of a million letters.

use crate::Refusal;

/// The most reasons that are told.
const TOLD: usize = 100;
/// The longest reason, in characters.
const CHARACTERS: usize = 2000;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    told: Vec<String>,
    more: usize,
}

impl Reasons {
    /// One more. Its text is made only if it is told.
    pub(crate) fn add(&mut self, reason: impl FnOnce() -> String) {
        if self.told.len() == TOLD {
            self.more += 1;
            return;
        }
        let mut reason = reason();
        if let Some((end, _)) = reason.char_indices().nth(CHARACTERS) {
            reason.truncate(end);
            reason.push_str("...");
        }
        self.told.push(reason);
    }

    /// Those of a refusal.
    pub(crate) fn add_refusal(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Invalid(reasons) => reasons.into_iter().for_each(|reason| self.add(|| reason)),
            other => self.add(|| other.to_string()),
        }
    }

    /// All of them, and how many more there were.
    pub(crate) fn into_vec(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("and {} more reasons", self.more));
        }
        self.told
    }

    /// # Errors
    /// [`Refusal::Invalid`] if there is a reason.
    pub(crate) fn check(self) -> Result<(), Refusal> {
        let reasons = self.into_vec();
        if reasons.is_empty() { Ok(()) } else { Err(Refusal::Invalid(reasons)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded_in_number_and_length() {
        let mut reasons = Reasons::default();
        reasons.add(|| "ä".repeat(1_000_000));
        for _ in 0..1_000_000 {
            reasons.add(|| "x".to_owned());
        }
        let all = reasons.into_vec();
        assert_eq!((all.len(), all[0].chars().count()), (TOLD + 1, CHARACTERS + 3));
        assert_eq!(all[TOLD], "and 999901 more reasons");
        assert_eq!(Reasons::default().check(), Ok(()));
    }
}
