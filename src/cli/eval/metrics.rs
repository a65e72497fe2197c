//! Figures with intervals.

use std::collections::{BTreeMap, HashMap};

/// Area under the ROC curve of `positive` against `negative` scores; ties count half. NaN where
/// one side is empty.
pub fn auc(positive: &[f32], negative: &[f32]) -> f64 {
    let mut all: Vec<(f32, bool)> = positive.iter().map(|score| (*score, true)).collect();
    all.extend(negative.iter().map(|score| (*score, false)));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut start) = (0.0, 0);
    while start < all.len() {
        let ties = all[start..].iter().take_while(|(score, _)| *score == all[start].0).count();
        let rank = start as f64 + (ties as f64 + 1.0) / 2.0;
        let hits = all[start..start + ties].iter().filter(|(_, hit)| *hit).count();
        rank_sum += rank * hits as f64;
        start += ties;
    }
    let (p, n) = (positive.len() as f64, negative.len() as f64);
    (rank_sum - p * (p + 1.0) / 2.0) / (p * n)
}

/// Wilson's 95 % interval of a share.
pub fn wilson(hits: usize, of: usize) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    const Z: f64 = 1.96;
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((middle - half) / scale, (middle + half) / scale)
}

/// Harmonic mean; 0 where both are.
pub fn f1(precision: f64, recall: f64) -> f64 {
    if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
}

/// B-cubed precision and recall of each item: the share of its cluster that has its label, and
/// the share of its label that is in its cluster.
pub fn b_cubed(labels: &[usize], clusters: &[usize]) -> Vec<(f64, f64)> {
    let mut cells: HashMap<(usize, usize), f64> = HashMap::new();
    let (mut by_label, mut by_cluster) = (HashMap::new(), HashMap::new());
    for (label, cluster) in labels.iter().zip(clusters) {
        *cells.entry((*label, *cluster)).or_default() += 1.0;
        *by_label.entry(*label).or_insert(0.0) += 1.0;
        *by_cluster.entry(*cluster).or_insert(0.0) += 1.0;
    }
    labels
        .iter()
        .zip(clusters)
        .map(|(label, cluster)| {
            let both = cells[&(*label, *cluster)];
            (both / by_cluster[cluster], both / by_label[label])
        })
        .collect()
}

/// B-cubed F1 over `items`.
pub fn b_cubed_f1(items: impl Iterator<Item = (f64, f64)>) -> (f64, f64, f64) {
    let (mut precision, mut recall, mut count) = (0.0, 0.0, 0.0f64);
    for (p, r) in items {
        precision += p;
        recall += r;
        count += 1.0;
    }
    let (precision, recall) = (precision / count.max(1.0), recall / count.max(1.0));
    (precision, recall, f1(precision, recall))
}

/// Samples of the bootstrap.
const SAMPLES: u64 = 500;

/// 95 % interval of B-cubed F1 by drawing whole labels with replacement, always the same draws.
pub fn b_cubed_interval(labels: &[usize], items: &[(f64, f64)]) -> (f64, f64) {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    labels
        .iter()
        .enumerate()
        .for_each(|(place, label)| groups.entry(*label).or_default().push(place));
    let groups: Vec<Vec<usize>> = groups.into_values().collect();
    if groups.is_empty() {
        return (0.0, 0.0);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut figures: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let drawn = (0..groups.len()).flat_map(|_| {
                let place = usize::try_from(draw(&mut state) % groups.len() as u64).unwrap_or(0);
                groups[place].iter().map(|item| items[*item])
            });
            b_cubed_f1(drawn.collect::<Vec<_>>().into_iter()).2
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| figures[((figures.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_counts_ties_half() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(auc(&[0.5], &[0.5]), 0.5);
        assert_eq!(auc(&[0.1], &[0.9]), 0.0);
    }

    #[test]
    fn wilson_is_known() {
        let (low, high) = wilson(8, 10);
        assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001);
    }

    #[test]
    fn b_cubed_of_a_perfect_and_of_a_lumped_result() {
        let labels = [0, 0, 1, 1];
        assert_eq!(b_cubed_f1(b_cubed(&labels, &[5, 5, 6, 6]).into_iter()).2, 1.0);
        let (p, r, _) = b_cubed_f1(b_cubed(&labels, &[5, 5, 5, 5]).into_iter());
        assert_eq!((p, r), (0.5, 1.0));
    }
}
