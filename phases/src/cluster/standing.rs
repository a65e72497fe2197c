//! Where one entry stands, in words for reports.

use super::Grouping;
use crate::entry::EntryId;

/// The place of one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing<'a> {
    /// In a cluster to consolidate, with its cohesion.
    Clustered(&'a super::Cluster),
    /// A copy of a form.
    Noise(&'a super::NoiseCluster),
    /// Linked, and waiting.
    Waiting(&'a super::WaitingGroup),
    /// Without a link.
    Isolated,
}

/// Where `entry` stands; `None` where the grouping does not know it.
pub fn standing<'a>(grouping: &'a Grouping, entry: &EntryId) -> Option<Standing<'a>> {
    let has = |members: &[EntryId]| members.binary_search(entry).is_ok();
    let clustered = grouping.clusters.iter().find(|cluster| has(&cluster.members));
    let noise = || grouping.noise.iter().find(|noise| has(&noise.members));
    let waiting = || grouping.waiting.iter().find(|group| has(&group.members));
    clustered
        .map(Standing::Clustered)
        .or_else(|| noise().map(Standing::Noise))
        .or_else(|| waiting().map(Standing::Waiting))
        .or_else(|| has(&grouping.isolated).then_some(Standing::Isolated))
}
