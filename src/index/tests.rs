//! Both indexes against a plain scan.

use super::*;
use proptest::prelude::*;

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = dot(&vector, &vector).sqrt().max(1e-6);
    vector.iter_mut().for_each(|value| *value /= norm);
    vector
}

/// Vectors that need no random source: the digits of hashes.
fn vectors(count: usize, dimensions: usize) -> Vec<Vec<f32>> {
    let vector = |n: usize| {
        let mut bytes = vec![0u8; dimensions];
        blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut bytes);
        unit(bytes.iter().map(|byte| f32::from(*byte) - 127.5).collect())
    };
    (0..count).map(vector).collect()
}

fn plain(all: &[Vec<f32>], query: &[f32], count: usize, floor: f32) -> Vec<i64> {
    let mut near: Vec<Near> = all
        .iter()
        .enumerate()
        .map(|(key, vector)| Near { key: key as i64, cosine: dot(query, vector) })
        .filter(|near| near.cosine >= floor)
        .collect();
    near.sort_by(by_nearness);
    near.truncate(count);
    near.iter().map(|near| near.key).collect()
}

#[test]
fn the_exact_scan_finds_what_a_plain_one_finds() {
    let all = vectors(6_000, 48);
    let mut index = Exact::new(48);
    for (key, vector) in all.iter().enumerate() {
        index.add(key as i64, vector).expect("a vector");
    }
    let queries: Vec<&[f32]> = all[..300].iter().map(Vec::as_slice).collect();
    let stored = |key: i64| all.get(usize::try_from(key).ok()?).cloned();
    let found = nearest(&index, &queries, 10, 0.3, stored);
    for (query, near) in queries.iter().zip(found) {
        let keys: Vec<i64> = near.iter().map(|near| near.key).collect();
        assert_eq!(keys, plain(&all, query, 10, 0.3));
    }
}

#[test]
fn useless_vectors_are_refused_and_find_nothing() {
    let mut index = Exact::new(4);
    assert_eq!(index.add(1, &[0.0; 4]), Err(VectorError::Useless));
    assert_eq!(index.add(1, &[f32::NAN, 1.0, 0.0, 0.0]), Err(VectorError::Useless));
    assert_eq!(index.add(1, &[1.0; 3]), Err(VectorError::Length { got: 3, want: 4 }));
    index.add(1, &[0.5; 4]).expect("a vector");
    let found = index.candidates(&[&[f32::NAN; 4], &[0.0; 4], &[0.5; 4], &[0.5; 3]], 5, -1.0);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 1, 0]);
}

proptest! {
    #[test]
    fn codes_keep_the_cosine(values in prop::collection::vec(-1.0f32..1.0, 64), other in prop::collection::vec(-1.0f32..1.0, 64)) {
        let (a, b) = (unit(values), unit(other));
        prop_assume!(dot(&a, &a) > 0.5 && dot(&b, &b) > 0.5);
        let mut index = Exact::new(64);
        index.add(7, &a).expect("a vector");
        let near = index.candidates(&[&b], 1, -2.0);
        prop_assert!((near[0][0].cosine - dot(&a, &b)).abs() < CODE_ERROR);
    }
}
