//! What a store's outcomes answer, for whoever runs a machine over a [`Store`].
//!
//! Invariant: an outcome goes back with the question that it answers, once. Threading: belongs to the thread that has
//! the store.

use std::collections::BTreeMap;

use ringstorm_store::desk::Question;
use ringstorm_store::store::{Event, Store, Ticket};

use crate::talks::{FromStore, ToStore};

/// Operations that are under way at a store.
#[derive(Debug, Default)]
pub struct Tickets {
    questions: BTreeMap<Ticket, Question>,
}

impl Tickets {
    /// Hands what a machine asks to the store.
    pub fn submit(&mut self, store: &mut impl Store, asked: ToStore) {
        let ticket = store.submit(asked.session, asked.operation);
        self.questions.insert(ticket, asked.question);
    }

    /// What an event of the store says to the machine; nothing if it answers a question of nobody.
    pub fn take(&mut self, event: Event) -> Option<FromStore> {
        match event {
            Event::Session(event) => Some(FromStore::Session(event)),
            Event::Watch(event) => Some(FromStore::Watch(event)),
            Event::Outcome { ticket, outcome } => {
                let question = self.questions.remove(&ticket)?;
                Some(FromStore::Outcome { question, outcome })
            }
        }
    }
}
