//! What the code directory says.

use ringstorm_records::znode::NodeName;

use super::Listed;
use crate::interface::{CodeEvent, CodeTask, HeldBlob};
use crate::nimbus::Nimbus;

impl Nimbus {
    pub(in crate::nimbus) fn take_code_event(&mut self, event: CodeEvent) {
        let now = self.now.moment;
        match event {
            CodeEvent::Held(blobs) => {
                self.code.held.get_or_insert_default();
                for blob in blobs {
                    self.code.take(blob, Listed::NotYet);
                }
                self.code.keys_are_stale(now);
                self.look_at_standing();
            }
            CodeEvent::Fetched(blob) => {
                self.code.fetches.remove(&blob.key);
                let (key, number) = (blob.key.clone(), blob.number);
                if self.code.number_of(&key).is_none_or(|held| held < number) {
                    self.code.take(blob, Listed::NotYet);
                    self.list(key, number);
                } else {
                    self.code.is_stale(key, now);
                }
                self.want_round();
            }
            CodeEvent::Failed { task: CodeTask::Fetch(key), why } => {
                let pause = self.code.fetches.get_mut(&key).map(|fetch| {
                    fetch.is_under_way = false;
                    fetch.tries += 1;
                    self.settings.pause(fetch.tries)
                });
                if let (Some(pause), Some(fetch)) = (pause, self.code.fetches.get_mut(&key)) {
                    fetch.at = Some(now + pause);
                }
                self.note(format_args!("{key} cannot be fetched yet: {why}"));
            }
            CodeEvent::Removed { key } => {
                self.code.held.get_or_insert_default().remove(&key);
            }
            CodeEvent::Failed { task: CodeTask::Remove(key), why } => {
                // The clean-up comes by again, also for what was not known to be there; 0 stands for a content that
                // nobody relies on.
                self.note(format_args!("{key} cannot be removed yet: {why}"));
                self.code.take_stray(key);
            }
            CodeEvent::Stored { topology } => self.submission_stored(&topology, Ok(())),
            CodeEvent::Failed { task: CodeTask::Store(topology), why } => self.submission_stored(&topology, Err(why)),
            CodeEvent::Replaced { key, number } => self.content_replaced(&key, Ok(number)),
            CodeEvent::Failed { task: CodeTask::Replace(key), why } => self.content_replaced(&key, Err(why)),
        }
    }

    /// A content was stored in the place of another.
    pub(in crate::nimbus) fn content_is_stored(&mut self, key: &NodeName, number: u32) {
        let Some(blob) = self.code.replacing.remove(key).filter(|blob| blob.number == number) else { return };
        self.code.take(blob, Listed::NotYet);
        self.list(key.clone(), number);
    }

    /// A content that this nimbus made and stored itself.
    pub(in crate::nimbus) fn take_own_content(&mut self, blob: HeldBlob) {
        self.code.keys.insert(blob.key.clone());
        self.code.take(blob, Listed::NotYet);
    }
}
