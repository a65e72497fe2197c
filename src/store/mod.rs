//! The store: SQLite in WAL mode, the source of truth.
//!
//! Reading goes through [`Store::reader`]. There is one door for writing, [`Store::write`], which
//! opens an immediate transaction; no model or embedding call may happen inside it. A dry run works
//! on a [`Store::scratch`] copy, so planning never needs a second code path.

mod apply;
pub mod batches;
mod briefing;
mod calls;
mod clusters;
pub mod conversations;
mod descriptors;
mod documents;
mod entries;
mod forms;
mod found;
mod fts;
mod journal;
mod meta;
mod migrate;
mod reindex;
mod relations;
pub mod repair;
pub mod routes;

pub mod links;
mod overview;
mod quality;
mod reading;
mod receipts;
mod rows;
mod terms;
pub mod vectors;

pub use apply::{apply, check};
pub use briefing::{briefing_candidates, common_descriptor, word_counts};
pub use calls::{
    Balance, ClosedCall, KeptReply, NewCall, OpenRow, UnusedAnswer, balance, close_call,
    judge_call, keep_prompt, kept_replies, open_call, open_calls, pause, sent_since, set_pause,
    unused_answer, use_calls,
};
pub use clusters::{
    ClusterRow, QualityRow, all_titles, cluster, clusters, forget_cluster, insert_quality,
    set_asked, titles, waiting_members,
};
pub use descriptors::{
    PlacedVector, Unembedded, ahead_of, count_failure, descriptors, dimensions, lacking,
    placed_vectors, put_vector, some_lacking,
};
pub use documents::{
    Document, NewChunk, Stored, chunks_lacking, count_chunks_lacking, delete_document, document,
    documents, put_chunk_vector, put_document, recut_document,
};
pub use entries::{
    Filter, StoredEntry, count_states, entry_by_id, entry_by_seq, list, resolve, seq_of,
};
pub use forms::{copies, put_template, set_form, templates};
pub use found::{
    Found, FoundChunk, coverage, for_each_vector, for_every_vector, found, searched_text, sources,
    successor, vector_in_scope, vector_of, vector_stamp,
};
pub use fts::{Item, Scope, WordHit, index_words, rebuild_words, search_words};
pub use journal::{
    StepRecord, TickRecord, TickStatus, begin_tick, clustered_with, finish_tick, keep_nearest,
    latest_undoable, nearest_of, record_step, running_ticks, set_clustered_with, set_step_status,
    steps_of, tick, ticks, touched,
};
pub use meta::{count_up, meta, set_meta};
pub use quality::{
    Generator, Latency, Quality, flat_prompts, generators, latency, quality, queue_wait,
};
pub use reading::immutable_address;
pub use receipts::{holds, is_taken, put_receipt};
pub use reindex::{chunks_after, embedded_after, refresh_words};
pub use relations::{Relations, relations};
pub use terms::{Term, is_unspaced, query_terms, terms_of};

pub use overview::{Consolidation, Overview, ProviderCalls, consolidation, overview};

use crate::config::Settings;
use crate::error::{Error, ExitCode, Result};
use crate::fault;
use crate::paths::Paths;
use migrate::Schema;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Copies from before a migration that are kept where no settings are at hand.
const KEPT_BACKUPS: usize = 3;

/// Copies up to this size are held in memory, larger ones in a temporary file (bytes).
const SCRATCH_IN_MEMORY: u64 = 256 << 20;

/// How much of the file a search maps (bytes); pages beyond it are read.
const MAPPED: i64 = 4 << 30;

/// An open database.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The folder that holds a scratch copy on disk; removed with it.
    _scratch: Option<tempfile::TempDir>,
}

impl Store {
    /// Opens the user's database, creating and migrating it as needed.
    pub fn open(paths: &Paths, settings: &Settings) -> Result<Self> {
        paths.create_data()?;
        let timeout = Duration::from_millis(settings.store.busy_timeout_ms);
        Self::open_keeping(&paths.database(), timeout, settings.store.backups)
    }

    /// Opens the database file at `path`; `timeout` bounds the wait for another writer.
    pub fn open_file(path: &Path, timeout: Duration) -> Result<Self> {
        Self::open_keeping(path, timeout, KEPT_BACKUPS)
    }

    fn open_keeping(path: &Path, timeout: Duration, backups: usize) -> Result<Self> {
        let connection =
            Self::connect(path, timeout, backups).map_err(|error| name_file(error, path))?;
        Ok(Self { connection, path: path.to_path_buf(), _scratch: None })
    }

    fn connect(path: &Path, timeout: Duration, backups: usize) -> Result<Connection> {
        migrate::refuse_emptied(path)?;
        let is_first_look = migrate::is_first_look(path);
        if is_first_look {
            migrate::refuse_cut(path)?;
        }
        if is_first_look || !path.exists() {
            create_owner_only(path)?;
        }
        let mut connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(timeout)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Schema::current().migrate(&mut connection, path, backups)?;
        Ok(connection)
    }

    /// An empty store that is nowhere on disk, for a dry run where no store exists yet.
    pub fn in_memory() -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Schema::current().fill(&mut connection)?;
        Ok(Self { connection, path: PathBuf::from(":memory:"), _scratch: None })
    }

    /// A private copy with the same content, for a run that must not write.
    pub fn scratch(&self) -> Result<Self> {
        let size = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        let folder = if size > SCRATCH_IN_MEMORY {
            Some(tempfile::tempdir().map_err(|error| Error::io(&std::env::temp_dir(), &error))?)
        } else {
            None
        };
        let path = folder.as_ref().map(|folder| folder.path().join("scratch.sqlite3"));
        let mut connection = match &path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        rusqlite::backup::Backup::new(&self.connection, &mut connection)?.run_to_completion(
            4096,
            Duration::ZERO,
            None,
        )?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        Ok(Self { connection, path: path.unwrap_or_else(|| self.path.clone()), _scratch: folder })
    }

    /// The same store for searches: the file is mapped into memory, since a search touches thousands
    /// of pages and a call to the system for each of them takes most of its time.
    pub fn for_searching(self) -> Result<Self> {
        self.connection.pragma_update(None, "mmap_size", MAPPED)?;
        Ok(self)
    }

    /// The connection, for reading.
    pub fn reader(&self) -> &Connection {
        &self.connection
    }

    /// The database file (of a scratch copy in memory: the file it was copied from).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in one immediate transaction and commits it if `work` succeeds.
    pub fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        fault::effect("commit", &[&self.path]).map_err(|error| commit_failed(&error))?;
        transaction.commit()?;
        fault::point("committed");
        Ok(value)
    }

    /// A connection that only reads, for the hot path: no store is made, none is migrated, and a
    /// lock is hardly waited for. `None` where there is no store, or one of another version.
    pub fn peek(paths: &Paths) -> Result<Option<Connection>> {
        let path = paths.database();
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(Duration::from_millis(30))?;
        let is_ours = migrate::version(&connection)? == Schema::current().version();
        Ok(is_ours.then_some(connection))
    }

    /// Hash of what a plan is computed from: changes whenever an entry or a step is added.
    pub fn fingerprint(&self) -> Result<String> {
        let state: String = self.connection.query_row(
            "SELECT (SELECT coalesce(max(seq), 0) FROM entry)
                 || '/' || (SELECT coalesce(max(id), 0) FROM tick)
                 || '/' || (SELECT count(*) FROM step WHERE tick = (SELECT max(id) FROM tick))",
            [],
            |row| row.get(0),
        )?;
        Ok(lifecycle_phases::entry::hex(state.as_bytes(), 32))
    }
}

fn create_owner_only(path: &Path) -> Result<()> {
    let mut options = crate::durable::private();
    options.create(true).truncate(false).write(true);
    options.open(path).map(drop).map_err(|error| {
        let message = format!("cannot open the store {}: {error}", path.display());
        Error { code: ExitCode::Store, message, ..Error::unwritable(path, &error) }
    })
}

fn commit_failed(error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return Error::new(ExitCode::Store, "the disk is full; this change was not made")
            .hint(crate::error::MAKE_ROOM);
    }
    Error::new(
        ExitCode::Store,
        format!("the store cannot be written: {error}; this change was not made"),
    )
}

fn name_file(mut error: Error, path: &Path) -> Error {
    if error.code == ExitCode::Store && !error.message.contains(&*path.to_string_lossy()) {
        error.message = format!("{}: {}", path.display(), error.message);
    }
    error
}
