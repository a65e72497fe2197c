//! What a tick notes down beside its steps.

use super::{batches, conversations};
use crate::error::Result;
use lifecycle_phases::Receipt;
use rusqlite::{Connection, Transaction};

/// How long the name of a record that was taken in is kept: it only has to outlive the file, which is
/// removed right after (milliseconds).
const REMEMBERED: i64 = 30 * 86_400_000;

/// Writes a receipt.
pub fn put_receipt(tx: &Transaction<'_>, receipt: &Receipt, now: i64) -> Result<()> {
    match receipt {
        Receipt::Conversation { reading, .. } => conversations::put_conversation(tx, reading),
        Receipt::Sightings { sightings } => conversations::put_sightings(tx, sightings),
        Receipt::Batch { batch } => batches::put_batch(tx, batch, now),
        Receipt::Inbox { file } => {
            tx.prepare_cached(
                "DELETE FROM meta WHERE key LIKE 'taken:%' AND CAST(value AS INTEGER) < ?1",
            )?
            .execute([now - REMEMBERED])?;
            tx.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
                .execute((taken_key(file), now.to_string()))?;
            Ok(())
        }
    }
}

/// Whether the content of an inbox record is stored already: a run was killed before it could remove
/// the file.
pub fn is_taken(connection: &Connection, file: &str) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?1)")?
        .query_row([taken_key(file)], |row| row.get(0))?)
}

fn taken_key(file: &str) -> String {
    format!("taken:{}", file.rsplit(['/', '\\']).next().unwrap_or(file))
}

/// Whether a receipt that was planned some time ago still holds: a conversation that was read on
/// meanwhile keeps its later cursor, a batch that was judged meanwhile its verdict.
pub fn holds(tx: &Transaction<'_>, receipt: &Receipt) -> Result<bool> {
    use lifecycle_phases::observe::BatchState::{Leased, Waiting};
    Ok(match receipt {
        Receipt::Conversation { from, reading } => {
            let stored = conversations::conversation(tx, &reading.path)?;
            stored.map_or(0, |stored| stored.offset) == *from
        }
        Receipt::Batch { batch } => {
            let stored = batches::batch(tx, &batch.key)?;
            stored.is_none_or(|stored| matches!(stored.state, Waiting | Leased))
        }
        Receipt::Sightings { .. } | Receipt::Inbox { .. } => true,
    })
}
