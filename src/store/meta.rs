//! Single values that belong to no table of their own.

use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, Transaction};

/// The value of a key.
pub fn meta(connection: &Connection, key: &str) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?)
}

/// Sets a key.
pub fn set_meta(tx: &Transaction<'_>, key: &str, value: &str) -> Result<()> {
    tx.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute([key, value])?;
    Ok(())
}

/// Adds one to a counter.
pub fn count_up(tx: &Transaction<'_>, key: &str) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO meta (key, value) VALUES (?1, '1')
         ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
    )?
    .execute([key])?;
    Ok(())
}
