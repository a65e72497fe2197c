//! What a tick notes down beside its steps.

use super::{batches, conversations};
use crate::error::Result;
use lifecycle_phases::Receipt;
use rusqlite::Transaction;

/// Writes a receipt; one for an inbox record has no effect on the store.
pub fn put_receipt(tx: &Transaction<'_>, receipt: &Receipt, now: i64) -> Result<()> {
    match receipt {
        Receipt::Conversation { reading, .. } => conversations::put_conversation(tx, reading),
        Receipt::Sightings { sightings } => conversations::put_sightings(tx, sightings),
        Receipt::Batch { batch } => batches::put_batch(tx, batch, now),
        Receipt::Inbox { .. } => Ok(()),
    }
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
