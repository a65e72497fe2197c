//! Scoring files for an entry.

use super::bm25::Bm25;
use super::scope::{folder_holds, globs_match};
use super::tokens::{bag, runs, words};

/// How many of the nearest blocks are looked at for stating an entry already.
const NEAR: usize = 8;

/// One bullet or paragraph of a file.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Index of its section in [`Candidate::places`].
    pub place: usize,
    /// Its text.
    pub text: String,
    /// Unit vector; empty when there is none.
    pub vector: Vec<f32>,
}

/// A section of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Headings, outermost first; the key path in TOML, YAML and JSON.
    pub path: Vec<String>,
}

/// A file that may take an entry.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Path relative to the project's root.
    pub relative: String,
    /// Globs of its front matter.
    pub globs: Vec<String>,
    /// Takes any fact of its scope.
    pub general: bool,
    /// Sections in order of the document.
    pub places: Vec<Place>,
    /// Blocks in order of the document.
    pub blocks: Vec<Block>,
}

/// What is to be placed.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The text.
    pub text: String,
    /// Files it speaks of.
    pub files: Vec<String>,
    /// Unit vector; empty when there is none.
    pub vector: Vec<f32>,
}

/// A file with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Index of the candidate.
    pub file: usize,
    /// Probability, 0 to 1, that it is the right one; over all candidates they add up to 1.
    pub score: f32,
    /// Index of its best section.
    pub place: usize,
}

/// All candidates, best first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// Best first.
    pub files: Vec<Ranked>,
    /// Cosine of the nearest block of all; 0 without vectors.
    pub nearest: f32,
    /// The blocks nearest by vector and by words, as (file, block of the file).
    pub blocks: Vec<(usize, usize)>,
}

/// Where a line goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// To this file and section.
    Place(Ranked),
    /// Near to nothing.
    NoTarget,
    /// Near to several.
    TooClose,
}

impl Ranking {
    /// The decision. `floor` is the least score of the best file, `margin` its least distance to
    /// the second; both on the scale of probability.
    pub fn verdict(&self, floor: f32, margin: f32) -> Verdict {
        let Some(best) = self.files.first() else { return Verdict::NoTarget };
        let second = self.files.get(1).map_or(0.0, |other| other.score);
        if best.score < floor {
            return Verdict::NoTarget;
        }
        if best.score - second < margin { Verdict::TooClose } else { Verdict::Place(*best) }
    }
}

/// Indexes over the candidates of one scope.
pub struct Ranker<'a> {
    files: &'a [Candidate],
    words: Bm25,
    runs: Bm25,
    blocks: Bm25,
    /// (file, block) of every block, in order.
    all: Vec<(usize, &'a Block)>,
    /// Number of each of those within its file.
    numbers: Vec<usize>,
}

impl<'a> Ranker<'a> {
    /// Indexes `files`.
    pub fn new(files: &'a [Candidate]) -> Self {
        let text = |file: &Candidate| -> String {
            let headings = file.places.iter().filter_map(|place| place.path.last().cloned());
            headings
                .chain(file.blocks.iter().map(|block| block.text.clone()))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let texts: Vec<String> = files.iter().map(text).collect();
        let all: Vec<(usize, &Block)> = files
            .iter()
            .enumerate()
            .flat_map(|(n, file)| file.blocks.iter().map(move |block| (n, block)))
            .collect();
        let with_headings = |(file, block): &(usize, &Block)| {
            let path = files[*file]
                .places
                .get(block.place)
                .map_or_else(String::new, |place| place.path.join(" "));
            bag(words(&format!("{path} {}", block.text)))
        };
        Self {
            files,
            words: Bm25::new(&texts.iter().map(|text| bag(words(text))).collect::<Vec<_>>()),
            runs: Bm25::new(&texts.iter().map(|text| bag(runs(text))).collect::<Vec<_>>()),
            blocks: Bm25::new(&all.iter().map(with_headings).collect::<Vec<_>>()),
            numbers: files.iter().flat_map(|file| 0..file.blocks.len()).collect(),
            all,
        }
    }

    /// The candidates for `query`, best first.
    pub fn rank(&self, query: &Query) -> Ranking {
        if self.files.is_empty() {
            return Ranking::default();
        }
        let terms = bag(words(&query.text));
        let cosines: Vec<f32> =
            self.all.iter().map(|(_, block)| dot(&block.vector, &query.vector)).collect();
        let lexical = self.blocks.scores(&terms);
        let signals = [
            (0.55, self.words.scores(&terms)),
            (0.50, self.runs.scores(&bag(runs(&query.text)))),
            (0.20, self.nearest(&lexical)),
            (0.40, self.nearest(&cosines)),
            (0.50, self.three_nearest(&cosines)),
        ];
        let mut totals = vec![0.0; self.files.len()];
        for (weight, values) in &signals {
            for (total, value) in totals.iter_mut().zip(standard(values)) {
                *total += weight * value;
            }
        }
        for (total, file) in totals.iter_mut().zip(self.files) {
            *total += scope_bonus(file, query);
        }
        let scores = softmax(&totals);
        let mut files: Vec<Ranked> = (0..self.files.len())
            .map(|file| Ranked {
                file,
                score: scores[file],
                place: self.best_place(file, &cosines, &lexical),
            })
            .collect();
        files.sort_by(|one, other| {
            other.score.total_cmp(&one.score).then(one.file.cmp(&other.file))
        });
        let mut near = self.top(&cosines);
        near.extend(self.top(&lexical));
        Ranking { files, nearest: cosines.iter().copied().fold(0.0, f32::max), blocks: near }
    }

    /// The [`NEAR`] blocks with the highest values.
    fn top(&self, values: &[f32]) -> Vec<(usize, usize)> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
        order.into_iter().take(NEAR).map(|n| (self.all[n].0, self.numbers[n])).collect()
    }

    fn nearest(&self, values: &[f32]) -> Vec<f32> {
        let mut best = vec![0.0_f32; self.files.len()];
        for ((file, _), value) in self.all.iter().zip(values) {
            best[*file] = best[*file].max(*value);
        }
        best
    }

    /// Sum of a file's three nearest blocks among the thirty nearest of all.
    fn three_nearest(&self, values: &[f32]) -> Vec<f32> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
        let (mut sums, mut counts) = (vec![0.0; self.files.len()], vec![0; self.files.len()]);
        for n in order.into_iter().take(30) {
            let file = self.all[n].0;
            if counts[file] < 3 {
                counts[file] += 1;
                sums[file] += values[n];
            }
        }
        sums
    }

    fn best_place(&self, file: usize, cosines: &[f32], lexical: &[f32]) -> usize {
        let most = lexical.iter().copied().fold(1e-6, f32::max);
        let mut scores = vec![0.0_f32; self.files[file].places.len().max(1)];
        for (n, (owner, block)) in self.all.iter().enumerate() {
            if *owner == file && block.place < scores.len() {
                let score = cosines[n] + 0.5 * lexical[n] / most;
                scores[block.place] = scores[block.place].max(score);
            }
        }
        let best = (0..scores.len())
            .max_by(|one, other| scores[*one].total_cmp(&scores[*other]).then(other.cmp(one)));
        best.unwrap_or(0)
    }
}

fn scope_bonus(file: &Candidate, query: &Query) -> f32 {
    let globs = match globs_match(&file.globs, &query.files) {
        Some(true) => 1.5,
        Some(false) => -1.0,
        None => 0.0,
    };
    let folder = file.relative.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = if folder.starts_with('.') { "" } else { folder };
    let inside = match folder_holds(folder, &query.files) {
        Some(true) => 1.0,
        Some(false) => -0.3,
        None => 0.0,
    };
    globs + inside
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    if one.len() != other.len() {
        return 0.0;
    }
    one.iter().zip(other).map(|(x, y)| x * y).sum()
}

/// Mean 0, standard deviation 1; all 0 where there is no spread.
fn standard(values: &[f32]) -> Vec<f32> {
    let count = values.len() as f32;
    let mean = values.iter().sum::<f32>() / count;
    let spread = (values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count).sqrt();
    values.iter().map(|value| if spread > 1e-9 { (value - mean) / spread } else { 0.0 }).collect()
}

fn softmax(values: &[f32]) -> Vec<f32> {
    let most = values.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f32> = values.iter().map(|value| (value - most).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
