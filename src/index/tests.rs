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

fn exact(all: &[Vec<f32>], keys: std::ops::Range<usize>) -> Exact {
    let mut index = Exact::new(all[0].len());
    for key in keys {
        index.add(key as i64, &all[key]).expect("a vector");
    }
    index
}

#[test]
fn the_graph_finds_nearly_all_and_the_rest_is_scanned() {
    let all = vectors(3_000, 32);
    let mut index = Hnsw::new(32).expect("a graph");
    *index.tail() = exact(&all, 0..2_500);
    index.absorb().expect("memory");
    *index.tail() = exact(&all, 2_500..3_000);
    assert_eq!((index.covered(), index.len()), (2_500, 3_000));
    let queries: Vec<&[f32]> = all.iter().step_by(30).map(Vec::as_slice).collect();
    let stored = |key: i64| all.get(usize::try_from(key).ok()?).cloned();
    let found = nearest(&index, &queries, 10, 0.3, stored);
    let (mut hits, mut wanted) = (0, 0);
    for (query, near) in queries.iter().zip(found) {
        let truth = plain(&all, query, 10, 0.3);
        hits += near.iter().filter(|near| truth.contains(&near.key)).count();
        wanted += truth.len();
    }
    assert!(hits as f64 >= 0.99 * wanted as f64, "{hits} of {wanted}");
}

/// Keys and codes.
fn contents(index: &Exact) -> (Vec<i64>, Vec<u8>) {
    (index.keys().to_vec(), index.codes(0..index.len()).expect("readable"))
}

fn append(mirror: &mut Mirror, rows: &Exact, last_row: i64) -> Exact {
    let mut index = Exact::new(rows.dimensions());
    mirror.append(rows, last_row, &mut index).expect("written");
    index
}

#[test]
fn a_mirror_comes_back_as_it_was_and_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.index");
    let all = vectors(40, 16);
    let mut mirror = Mirror::create(&path, "model", 16);
    let filed = append(&mut mirror, &exact(&all, 0..30), 30);
    assert_eq!(contents(&filed), contents(&exact(&all, 0..30)));
    let (mut mirror, index) = Mirror::open(&path, "model", 16).expect("read");
    assert_eq!((mirror.rows, mirror.last_row, index.len()), (30, 30, 30));
    append(&mut mirror, &exact(&all, 30..40), 41);
    let (mirror, index) = Mirror::open(&path, "model", 16).expect("read");
    assert_eq!((mirror.rows, mirror.last_row), (40, 41));
    assert_eq!(contents(&index), contents(&exact(&all, 0..40)));
    assert!(agrees(&index, |key| all.get(usize::try_from(key).ok()?).cloned()));
    assert!(!agrees(&index, |key| all.get(39 - usize::try_from(key).ok()?).cloned()));
    assert_eq!(stated_rows(&path), Some(40));
    for from in [0, 12, 30, 35, 40] {
        assert_eq!(contents(&index.after(from)), contents(&exact(&all, from..40)), "from {from}");
    }
}

#[test]
fn many_rows_are_several_segments_and_only_the_last_makes_them_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.index");
    let all = vectors(9_000, 8);
    let index = append(&mut Mirror::create(&path, "model", 8), &exact(&all, 0..9_000), 9_000);
    assert_eq!(contents(&index), contents(&exact(&all, 0..9_000)));
    let whole = std::fs::read(&path).expect("readable");
    let second = 54 + 44 + 4_096 * 20;
    std::fs::write(&path, &whole[..second]).expect("writable");
    let (mirror, _) = Mirror::open(&path, "model", 8).expect("read");
    assert_eq!((mirror.rows, mirror.last_row), (4_096, 0));
}

#[test]
fn rows_in_the_file_and_in_memory_are_one_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = vectors(700, 24);
    let mut mirror = Mirror::create(&folder.path().join("p.index"), "model", 24);
    let mut index = Exact::new(24);
    for start in (0..600).step_by(50) {
        mirror.append(&exact(&all, start..start + 50), 1, &mut index).expect("written");
    }
    for (key, vector) in (600..).zip(&all[600..650]) {
        index.add(key, vector).expect("a vector");
    }
    mirror.append(&exact(&all, 650..700), 2, &mut index).expect("written");
    assert_eq!(contents(&index), contents(&exact(&all, 0..700)));
    let queries: Vec<&[f32]> = all.iter().step_by(9).map(Vec::as_slice).collect();
    let whole = exact(&all, 0..700);
    assert_eq!(index.candidates(&queries, 9, 0.2), whole.candidates(&queries, 9, 0.2));
}

#[test]
fn a_file_that_is_cut_under_a_reader_gives_no_wrong_neighbour() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.index");
    let all = vectors(300, 16);
    let index = append(&mut Mirror::create(&path, "model", 16), &exact(&all, 0..300), 300);
    std::fs::OpenOptions::new().write(true).open(&path).expect("open").set_len(3_000).expect("cut");
    let found = index.candidates(&[&all[7]], 300, -2.0);
    assert!(found[0].len() < 300);
    assert!(found[0].iter().all(|near| {
        let place = usize::try_from(near.key).expect("a key");
        (near.cosine - dot(&all[7], &all[place])).abs() < CODE_ERROR
    }));
}

#[test]
fn a_mirror_with_any_damage_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.index");
    let all = vectors(12, 16);
    append(&mut Mirror::create(&path, "model", 16), &exact(&all, 0..12), 12);
    assert!(Mirror::open(&path, "other", 16).is_err());
    assert!(Mirror::open(&path, "model", 32).is_err());
    let whole = std::fs::read(&path).expect("readable");
    for place in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&path, &bytes).expect("writable");
        assert!(Mirror::open(&path, "model", 16).is_err(), "bit of byte {place}");
        std::fs::write(&path, &whole[..place]).expect("writable");
        assert!(Mirror::open(&path, "model", 16).is_err() || place == 54, "cut at {place}");
    }
}

#[test]
fn a_large_project_is_served_by_a_graph_from_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = vectors(9_500, 8);
    let open =
        || ProjectIndex::open(folder.path(), "model", None, 8, |_, _| true).with_limit(9_000 * 8);
    let mut index = open();
    index.refresh(&exact(&all, 0..9_000), 9_000, true);
    assert_eq!(index.neighbours().kind(), "exact");
    index.refresh(&exact(&all, 9_000..9_400), 9_400, true);
    assert_eq!(index.neighbours().kind(), "hnsw");
    let mut again = open();
    assert_eq!((again.neighbours().kind(), again.damage()), ("hnsw", None));
    again.refresh(&exact(&all, 9_400..9_500), 9_500, true);
    assert_eq!(again.neighbours().len(), 9_500);
    for key in [3, 9_399, 9_499] {
        let near = again.neighbours().candidates(&[&all[key]], 1, 0.9);
        assert_eq!(near[0][0].key, key as i64);
    }
}

#[test]
fn a_graph_with_any_damage_is_not_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.hnsw");
    let all = vectors(300, 16);
    let mut mirror = Mirror::create(&folder.path().join("p.index"), "model", 16);
    let rows = append(&mut mirror, &exact(&all, 0..300), 300);
    let mut index = Hnsw::new(16).expect("a graph");
    *index.tail() = exact(&all, 0..300);
    index.absorb().expect("memory");
    index.save(&path, &mirror).expect("written");
    assert_eq!(Hnsw::load(&path, &mirror, &rows).expect("read").covered(), 300);
    let other = Mirror::create(&folder.path().join("q.index"), "model", 16);
    assert!(Hnsw::load(&path, &other, &rows).is_err(), "rows that the mirror does not have");
    let mut other = Mirror::create(&folder.path().join("q.index"), "other", 16);
    append(&mut other, &exact(&all, 0..300), 300);
    assert!(Hnsw::load(&path, &other, &rows).is_err(), "another owner with the same rows");
    let whole = std::fs::read(&path).expect("readable");
    for place in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x01;
        std::fs::write(&path, &bytes).expect("writable");
        assert!(Hnsw::load(&path, &mirror, &rows).is_err(), "bit of byte {place}");
    }
    std::fs::write(&path, b"junk").expect("writable");
    assert!(Hnsw::load(&path, &mirror, &rows).is_err());
}

#[test]
fn a_file_under_the_name_of_another_project_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = vectors(40, 16);
    let open =
        |project: &str| ProjectIndex::open(folder.path(), "m", Some(project), 16, |_, _| true);
    open("/p").refresh(&exact(&all, 0..20), 20, true);
    let first = files(folder.path());
    open("/q").refresh(&exact(&all, 20..40), 40, true);
    let both = files(folder.path());
    let second = both.iter().find(|file| !first.contains(file)).expect("a file of its own");
    std::fs::copy(&first[0], second).expect("copied");
    assert!(open("/q").damage().is_some());
    assert_eq!((open("/p").damage(), open("/p").neighbours().len()), (None, 20));
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let listing = std::fs::read_dir(folder).expect("a folder");
    listing.map(|file| file.expect("a file").path()).collect()
}

#[test]
fn a_project_is_read_from_its_files_and_survives_their_loss() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = vectors(60, 16);
    let open =
        |current: bool| ProjectIndex::open(folder.path(), "model", Some("/p"), 16, |_, _| current);
    let mut index = open(true);
    assert_eq!((index.last_row(), index.damage()), (0, None));
    index.refresh(&exact(&all, 0..50), 50, true);
    assert_eq!(open(true).last_row(), 50);
    let near = open(true).neighbours().candidates(&[&all[7]], 1, 0.5);
    assert_eq!(near[0][0].key, 7);
    let stale = open(false);
    assert_eq!(stale.last_row(), 0);
    assert!(stale.damage().is_some());
    let file = std::fs::read_dir(folder.path()).expect("a folder").next().expect("a file");
    std::fs::write(file.expect("a file").path(), b"junk").expect("writable");
    let mut damaged = open(true);
    assert_eq!(damaged.last_row(), 0);
    assert!(damaged.damage().is_some());
    damaged.refresh(&exact(&all, 0..60), 60, true);
    let whole = open(true);
    assert_eq!((whole.last_row(), whole.damage(), whole.neighbours().len()), (60, None, 60));
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
