//! Batches bounded by tokens: sorted by length, so that little of a batch is padding.

use std::ops::Range;

/// Positions of `lengths` sorted by length, and the ranges of that order that run together: the
/// longest of a range times its count stays within `tokens`, and the count within `texts`. A range
/// holds at least one.
pub(super) fn plan(
    lengths: &[usize],
    tokens: usize,
    texts: usize,
) -> (Vec<usize>, Vec<Range<usize>>) {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&position| lengths[position]);
    let mut ranges = Vec::new();
    let mut start = 0;
    for end in 1..=order.len() {
        let is_full = order.get(end).is_none_or(|&next| {
            let count = end + 1 - start;
            count > texts || count * lengths[next] > tokens
        });
        if is_full {
            ranges.push(start..end);
            start = end;
        }
    }
    (order, ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_runs_once_and_no_batch_is_too_large(
            lengths in prop::collection::vec(1usize..300, 0..80),
            tokens in 1usize..2000,
            texts in 1usize..40,
        ) {
            let (order, ranges) = plan(&lengths, tokens, texts);
            let mut seen: Vec<usize> =
                ranges.iter().flat_map(|range| order[range.clone()].to_vec()).collect();
            for range in &ranges {
                let longest = order[range.clone()].iter().map(|&at| lengths[at]).max().unwrap_or(0);
                prop_assert!(range.len() <= texts);
                prop_assert!(range.len() == 1 || range.len() * longest <= tokens);
            }
            seen.sort();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
