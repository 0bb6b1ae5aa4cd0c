//! Words and the bolt that counts them, after storm-perf's `WordGenSpout` and `CountBolt`.
//!
//! Storm's spout reads a text file into a list and goes round it for ever; here the list is made of syllables, so that
//! every run has the same thousand words. Threading: each value belongs to one task. Errors: a tuple of another layout,
//! which the engine reports.

use std::collections::HashMap;

use ringstorm::{Declarer, Emitter, Input, Result, SimpleBolt, Tuple};

use crate::engine::Measure;
use crate::engine::sink::Arrivals;
use crate::engine::source::Stream;

const SYLLABLES: [&str; 10] = ["a", "be", "cor", "di", "est", "fu", "gram", "ho", "in", "ju"];

/// One word.
#[derive(Debug, Tuple)]
pub struct Word<'a> {
    /// The word.
    pub word: &'a str,
}

/// A word and how often it has come so far.
#[derive(Debug, Tuple)]
pub(super) struct Counted<'a> {
    /// The word.
    pub word: &'a str,
    /// How often.
    pub count: u64,
}

/// A thousand words of three syllables, round and round.
#[derive(Debug, Clone)]
pub struct Words(Vec<String>);

impl Default for Words {
    fn default() -> Self {
        let digit = |number: usize, place: u32| SYLLABLES[number / 10_usize.pow(place) % 10];
        Words((0..1000).map(|number| [2, 1, 0].map(|place| digit(number, place)).concat()).collect())
    }
}

impl Words {
    fn at(&self, sequence: u64) -> &str {
        &self.0[(sequence % self.0.len() as u64) as usize]
    }

    /// Whether `counts` are those of the first `tuples` words.
    fn are_counted(&self, counts: &HashMap<String, u64>, tuples: u64) -> bool {
        let words = self.0.len() as u64;
        let expected = |index: u64| tuples / words + u64::from(index < tuples % words);
        let is_right = |(index, word): (u64, &String)| counts.get(word).copied().unwrap_or_default() == expected(index);
        (0..).zip(&self.0).all(is_right)
    }
}

impl Stream for Words {
    type Tuple<'a> = Word<'a>;

    #[inline]
    fn tuple(&mut self, sequence: u64) -> Word<'_> {
        Word { word: self.at(sequence) }
    }
}

/// Counts words and emits each with its count, as Storm's does; nobody subscribes.
///
/// The words of the spout are in its map from the start: at a thousand tuples a second their first copies would
/// otherwise fall into the measured window.
#[derive(Debug)]
pub struct CountBolt {
    arrivals: Arrivals,
    counts: HashMap<String, u64>,
    tuples: u64,
}

impl CountBolt {
    /// A bolt for one leg. There must be one task only: tuples have no number and are metered by their order.
    pub fn new(measure: &Measure) -> CountBolt {
        let counts = Words::default().0.into_iter().map(|word| (word, 0)).collect();
        CountBolt { arrivals: Arrivals::new(measure), counts, tuples: 0 }
    }
}

impl SimpleBolt for CountBolt {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Counted<'static>>().reads::<Word<'static>>();
    }

    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let word = input.view::<Word<'_>>()?.word();
        let count = match self.counts.get_mut(word) {
            Some(count) => {
                *count += 1;
                *count
            }
            None => {
                self.counts.insert(word.to_owned(), 1);
                1
            }
        };
        emitter.emit(&Counted { word, count });
        self.arrivals.arrived(self.tuples);
        self.tuples += 1;
        Ok(())
    }

    fn cleanup(&mut self) {
        let intact = Words::default().are_counted(&self.counts, self.tuples);
        self.arrivals.end(self.tuples, None, intact);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_words_differ_and_come_round() {
        let words = Words::default();
        assert_eq!(words.0.iter().collect::<HashSet<_>>().len(), 1000);
        assert_eq!((words.at(0), words.at(1), words.at(1000)), ("aaa", "aabe", "aaa"));
        assert!(words.0.iter().all(|word| (3..=12).contains(&word.len())));
    }

    #[test]
    fn a_lost_or_doubled_word_shows() {
        let words = Words::default();
        let mut counts = HashMap::new();
        for sequence in 0..2500 {
            *counts.entry(words.at(sequence).to_owned()).or_default() += 1;
        }
        assert!(words.are_counted(&counts, 2500));
        assert!(!words.are_counted(&counts, 2501));
        *counts.get_mut("aabe").unwrap() += 1;
        assert!(!words.are_counted(&counts, 2500));
    }
}
