//! The four doors at which secrets are taken out of texts, and the account of what fired where.
//!
//! A text is redacted before it is stored. The other doors stand behind that one for what came in
//! another way (a store of an earlier rule set, a user's own file, an edited plan): before a text
//! is embedded, before it is sent to a hosted model, before it is written into a config file. The
//! report of a tick says for each door which shape fired how often, never the value.

use crate::config::RedactSettings;
use crate::embed::{Descriptor, Embedder, Embedding, Role};
use crate::redact::{Counts, Redactor};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A place where texts leave for somewhere they stay or are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    /// Into the store.
    Store,
    /// Into an embedding model, which may be a server.
    Embedding,
    /// To a model on another machine.
    Model,
    /// Into a config file.
    File,
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store => "storing",
            Self::Embedding => "embedding",
            Self::Model => "asking a hosted model",
            Self::File => "writing a config file",
        })
    }
}

/// The doors of one run. Clones share one account.
#[derive(Clone)]
pub struct Doors {
    redactor: Arc<Redactor>,
    counts: Arc<Mutex<BTreeMap<Door, Counts>>>,
}

impl Doors {
    /// Doors with the built-in shapes and the user's own. A pattern of the user's that is no
    /// expression is reported by the buffer phase; here the built-in shapes do without it.
    pub fn new(settings: &RedactSettings) -> Self {
        let redactor = Redactor::new(&settings.patterns).unwrap_or_default();
        Self { redactor: Arc::new(redactor), counts: Arc::default() }
    }

    /// `text` as it may pass.
    pub fn pass(&self, door: Door, text: &str) -> String {
        let (text, found) = self.redactor.redact(text);
        self.add(door, &found);
        text
    }

    /// `text` as it would pass, where it does not: nothing is counted.
    pub fn as_it_would_pass(&self, text: &str) -> String {
        self.redactor.redact(text).0
    }

    /// Adds what was found elsewhere.
    pub fn add(&self, door: Door, found: &Counts) {
        if found.total() > 0 {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.entry(door).or_default().add(found);
        }
    }

    /// What fired at each door, and starts anew.
    pub fn take(&self) -> Vec<(Door, Counts)> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counts).into_iter().collect()
    }
}

/// An embedder behind the door.
pub struct Guarded<E> {
    inner: E,
    doors: Doors,
}

impl<E: std::ops::Deref<Target: Embedder>> Guarded<E> {
    /// `inner`, which sees texts only after `doors`.
    pub fn new(inner: E, doors: Doors) -> Self {
        Self { inner, doors }
    }
}

impl<E: std::ops::Deref<Target: Embedder> + Send + Sync> Embedder for Guarded<E> {
    fn descriptor(&self) -> &Descriptor {
        self.inner.descriptor()
    }

    fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding> {
        let clean: Vec<String> =
            texts.iter().map(|text| self.doors.pass(Door::Embedding, text)).collect();
        self.inner.embed(&clean, role)
    }

    fn count_tokens(&self, texts: &[String], role: Role) -> Vec<usize> {
        self.inner.count_tokens(texts, role)
    }

    fn expect_dimensions(&self, dimensions: usize) {
        self.inner.expect_dimensions(dimensions);
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }
}
