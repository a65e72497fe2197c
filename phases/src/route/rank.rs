//! Scoring files for an entry.

use super::bm25::{Bm25, Shape};
use super::directions::{Directions, add, dot, unit};
use super::scope::{folder_holds, globs_match};
use super::sections::{Member, Nearness, Sections, grow};
use super::style::{Counts, Look, Rates};
use super::tokens::{bag, runs};
use std::cell::OnceCell;
use std::collections::BTreeMap;

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
    /// It stands in our own block: looked at for what is known already, but without a say in where
    /// an entry goes, so that writing one line never changes the place of the next.
    pub ours: bool,
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
    /// Its globs or its folder name a file that the entry speaks of.
    pub scoped: bool,
}

/// All candidates, best first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// Best first.
    pub files: Vec<Ranked>,
    /// Cosine of the nearest block of all; 0 without vectors.
    pub nearest: f32,
    /// Every section with text of the user's, likeliest first, as (file, place).
    pub sections: Vec<(usize, usize)>,
    /// The blocks nearest by vector and by words, and all of ours, as (file, block of the file).
    pub blocks: Vec<(usize, usize)>,
}

/// A ranking to compare with: its name, the place in its first file, the files.
pub type Baseline = (&'static str, Option<usize>, Vec<usize>);

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

/// What the signals count for, in units of their own standard deviation over the files. Fitted by
/// conditional logit on bullets taken out of 14 repositories, so that the softmax of the sum is the
/// probability of a file; see docs/routing.md for how well that holds on repositories left out.
const FUSED: f32 = 0.30;
const RUNS: f32 = 0.22;
const WORDS: f32 = 0.41;
const FILE_CENTRE: f32 = 0.21;
const SECTION_CENTRE: f32 = 0.23;
const STYLE: f32 = 0.29;
const SECTIONS: f32 = 0.63;

/// Texts by which a file's rates are shrunk towards those of all files.
const PRIOR: f32 = 5.0;

/// Indexes over the candidates of one scope.
pub struct Ranker<'a> {
    files: &'a [Candidate],
    words: Bm25,
    /// With the usual shape; only the baselines need it.
    plain_words: OnceCell<Bm25>,
    runs: Bm25,
    block_words: Bm25,
    block_runs: Bm25,
    directions: Option<Directions>,
    styles: Vec<Rates>,
    average: Rates,
    grouped: Sections,
    /// Every block of every file, in order.
    all: Vec<Entry<'a>>,
    /// Unit centre of each file's block vectors.
    centres: Vec<Vec<f32>>,
    /// The same for sections, with the file of each.
    sections: Vec<(usize, Vec<f32>)>,
}

/// How the blocks of all files are worded, and those of each.
fn wordings(files: &[Candidate]) -> (Rates, Vec<Rates>) {
    let mut all = Counts::default();
    let mut own = vec![Counts::default(); files.len()];
    for (counts, file) in own.iter_mut().zip(files) {
        for look in block_texts(file).map(Look::of) {
            counts.add(&look);
            all.add(&look);
        }
    }
    let average = all.rates();
    let own = own.iter().map(|counts| counts.shrunk(&average, PRIOR)).collect();
    (average, own)
}

struct Entry<'a> {
    file: usize,
    number: usize,
    block: &'a Block,
    /// The block's vector without what all blocks share.
    own: Vec<f32>,
}

/// Scores of one query before they are weighed.
struct Signals {
    words: Vec<f32>,
    runs: Vec<f32>,
    fused: Vec<f32>,
    cosines: Vec<f32>,
    lexical: Vec<f32>,
    /// One a section.
    sections: Vec<f32>,
    styles: Vec<f32>,
}

impl<'a> Ranker<'a> {
    /// Indexes `files`.
    pub fn new(files: &'a [Candidate]) -> Self {
        let directions = {
            let vectors = files.iter().flat_map(users).map(|block| block.vector.as_slice());
            let vectors: Vec<&[f32]> = vectors.filter(|vector| !vector.is_empty()).collect();
            Directions::of(&vectors)
        };
        let mut all = Vec::new();
        for (file, candidate) in files.iter().enumerate() {
            for (number, block) in candidate.blocks.iter().enumerate().filter(|(_, b)| !b.ours) {
                let own = own_part(directions.as_ref(), &block.vector);
                all.push(Entry { file, number, block, own });
            }
        }
        let (average, styles) = wordings(files);
        let members: Vec<Member<'_>> = all
            .iter()
            .map(|entry| Member { file: entry.file, block: entry.block, own: &entry.own })
            .collect();
        let grouped = Sections::of(files, &members, &styles);
        let texts = || files.iter().map(whole_text);
        let blocks = || all.iter().map(|entry| with_headings(&files[entry.file], entry.block));
        Self {
            words: Bm25::new(texts().map(|text| bag(&text)), Shape::FILE),
            runs: Bm25::new(texts().map(|text| runs(&text)), Shape::SHORT),
            block_words: Bm25::new(blocks().map(|text| bag(&text)), Shape::SHORT),
            block_runs: Bm25::new(blocks().map(|text| runs(&text)), Shape::SHORT),
            styles,
            average,
            grouped,
            centres: files.iter().map(|file| centre(users(file))).collect(),
            sections: section_centres(files),
            plain_words: OnceCell::new(),
            files,
            directions,
            all,
        }
    }

    /// The candidates for `query`, best first.
    pub fn rank(&self, query: &Query) -> Ranking {
        if self.files.is_empty() {
            return Ranking::default();
        }
        let signals = self.signals(query);
        let scores = softmax(&self.totals(query, &signals));
        let places = self.best_places(&signals.sections);
        let mut files: Vec<Ranked> = (0..self.files.len())
            .map(|file| Ranked {
                file,
                score: scores[file],
                place: places[file],
                scoped: scope_bonus(&self.files[file], query) >= 1.0,
            })
            .collect();
        files.sort_by(|one, other| {
            other.score.total_cmp(&one.score).then(one.file.cmp(&other.file))
        });
        let mut blocks = self.top(&signals.cosines);
        blocks.extend(self.top(&signals.lexical));
        blocks.extend(self.files.iter().enumerate().flat_map(|(file, candidate)| {
            let ours = candidate.blocks.iter().enumerate().filter(|(_, block)| block.ours);
            ours.map(move |(number, _)| (file, number))
        }));
        let sections: Vec<(usize, usize)> = self.grouped.places().collect();
        let sections = order(&signals.sections).into_iter().map(|n| sections[n]).collect();
        Ranking {
            files,
            sections,
            nearest: signals.cosines.iter().copied().fold(0.0, f32::max),
            blocks,
        }
    }

    /// Rankings of the files by single signals, to compare with: BM25 over whole files, nearest
    /// section by vector, and the fusion (reciprocal ranks, k = 60) of BM25 over files, BM25 over
    /// blocks and nearest block by vector. With each the place in its first file: that of the block
    /// with the most words in common, of the nearest section, of the block with the best fusion.
    pub fn baselines(&self, query: &Query) -> [Baseline; 3] {
        let terms = bag(&query.text);
        let plain = self.plain_words.get_or_init(|| {
            Bm25::new(self.files.iter().map(|file| bag(&whole_text(file))), Shape::SHORT)
        });
        let words = plain.scores(&terms);
        let sections = self.section_signal(&query.vector);
        let block_words = self.block_words.scores(&terms);
        let lexical = self.nearest(&block_words);
        let cosines: Vec<f32> =
            self.all.iter().map(|entry| dot(&entry.block.vector, &query.vector)).collect();
        let dense = self.nearest(&cosines);
        let mut fused = vec![0.0; self.files.len()];
        for scores in [&words, &lexical, &dense] {
            for (rank, file) in order(scores).into_iter().enumerate() {
                fused[file] += 1.0 / (61.0 + rank as f32);
            }
        }
        let (by_words, by_sections, by_fusion) = (order(&words), order(&sections), order(&fused));
        let both: Vec<f32> =
            block_words.iter().zip(&cosines).map(|(words, cosine)| words + cosine).collect();
        let nearest = self.nearest_section(by_sections[0], &query.vector);
        [
            ("BM25 over files", self.place_of(by_words[0], &block_words), by_words),
            ("nearest section", nearest, by_sections),
            ("fusion of three", self.place_of(by_fusion[0], &both), by_fusion),
        ]
    }

    /// The place of a file's block with the highest value.
    fn place_of(&self, file: usize, values: &[f32]) -> Option<usize> {
        let own = self.all.iter().zip(values).filter(|(entry, _)| entry.file == file);
        own.max_by(|one, other| one.1.total_cmp(other.1)).map(|(entry, _)| entry.block.place)
    }

    fn nearest_section(&self, file: usize, vector: &[f32]) -> Option<usize> {
        let own = self.grouped.places().zip(&self.sections).filter(|((own, _), _)| *own == file);
        let near = own.map(|((_, place), (_, centre))| (dot(centre, vector), place));
        near.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, place)| place)
    }

    fn signals(&self, query: &Query) -> Signals {
        let (terms, query_runs) = (bag(&query.text), runs(&query.text));
        let own = own_part(self.directions.as_ref(), &query.vector);
        let lexical = self.block_words.scores(&terms);
        let near: Vec<f32> = self.all.iter().map(|entry| dot(&entry.own, &own).max(0.0)).collect();
        let mut fused = vec![0.0; self.all.len()];
        for values in [&lexical, &self.block_runs.scores(&query_runs), &near] {
            let most = values.iter().copied().fold(1e-6, f32::max);
            add(&mut fused, values, 1.0 / most);
        }
        let cosines: Vec<f32> =
            self.all.iter().map(|entry| dot(&entry.block.vector, &query.vector)).collect();
        let look = Look::of(&query.text);
        let average = self.average.likelihood(&look);
        let nearness =
            Nearness { fused: &fused, cosines: &cosines, own: &own, look: &look, average };
        Signals {
            words: self.words.scores(&terms),
            runs: self.runs.scores(&query_runs),
            sections: self.grouped.scores(&nearness),
            styles: self.styles.iter().map(|style| style.likelihood(&look) - average).collect(),
            cosines,
            fused,
            lexical,
        }
    }

    fn totals(&self, query: &Query, signals: &Signals) -> Vec<f32> {
        let centres: Vec<f32> =
            self.centres.iter().map(|centre| dot(centre, &query.vector)).collect();
        let weighed = [
            (FUSED, self.three_nearest(&signals.fused)),
            (RUNS, signals.runs.clone()),
            (WORDS, signals.words.clone()),
            (FILE_CENTRE, centres),
            (SECTION_CENTRE, self.section_signal(&query.vector)),
            (STYLE, signals.styles.clone()),
            (SECTIONS, self.grouped.summed(self.files.len(), &signals.sections)),
        ];
        let mut totals: Vec<f32> = self.files.iter().map(|file| scope_bonus(file, query)).collect();
        for (weight, values) in &weighed {
            add(&mut totals, &standard(values), *weight);
        }
        totals
    }

    /// The [`NEAR`] blocks with the highest values, as (file, block of the file).
    fn top(&self, values: &[f32]) -> Vec<(usize, usize)> {
        let near = order(values).into_iter().take(NEAR);
        near.map(|n| (self.all[n].file, self.all[n].number)).collect()
    }

    fn nearest(&self, values: &[f32]) -> Vec<f32> {
        let mut best = vec![0.0_f32; self.files.len()];
        for (entry, value) in self.all.iter().zip(values) {
            best[entry.file] = best[entry.file].max(*value);
        }
        best
    }

    fn section_signal(&self, vector: &[f32]) -> Vec<f32> {
        let mut best = vec![0.0_f32; self.files.len()];
        for (file, centre) in &self.sections {
            best[*file] = best[*file].max(dot(centre, vector));
        }
        best
    }

    /// Sum of a file's three nearest blocks among the thirty nearest of all.
    fn three_nearest(&self, values: &[f32]) -> Vec<f32> {
        let (mut sums, mut counts) = (vec![0.0; self.files.len()], vec![0; self.files.len()]);
        for n in order(values).into_iter().take(30) {
            let file = self.all[n].file;
            if counts[file] < 3 {
                counts[file] += 1;
                sums[file] += values[n];
            }
        }
        sums
    }

    /// The likeliest section of each file; in a file without text of its own the first with a
    /// heading.
    fn best_places(&self, scores: &[f32]) -> Vec<usize> {
        let first = |file: &Candidate| 1.min(file.places.len().saturating_sub(1));
        let mut best: Vec<(f32, usize)> =
            self.files.iter().map(|file| (f32::NEG_INFINITY, first(file))).collect();
        for ((file, place), score) in self.grouped.places().zip(scores) {
            if *score > best[file].0 {
                best[file] = (*score, place);
            }
        }
        best.into_iter().map(|(_, place)| place).collect()
    }
}

/// A vector without what all share; as it is where there are too few to tell.
fn own_part(directions: Option<&Directions>, vector: &[f32]) -> Vec<f32> {
    directions.map_or_else(|| vector.to_vec(), |directions| directions.without(vector))
}

/// The blocks that are the user's own.
fn users(file: &Candidate) -> impl Iterator<Item = &Block> {
    file.blocks.iter().filter(|block| !block.ours)
}

fn block_texts(file: &Candidate) -> impl Iterator<Item = &str> {
    users(file).map(|block| block.text.as_str())
}

fn whole_text(file: &Candidate) -> String {
    let headings = file.places.iter().filter_map(|place| place.path.last().map(String::as_str));
    headings.chain(block_texts(file)).collect::<Vec<_>>().join("\n")
}

fn with_headings(file: &Candidate, block: &Block) -> String {
    let path = file.places.get(block.place).map_or_else(String::new, |place| place.path.join(" "));
    format!("{path} {}", block.text)
}

fn centre<'b>(blocks: impl Iterator<Item = &'b Block>) -> Vec<f32> {
    let mut sum: Vec<f32> = Vec::new();
    blocks.for_each(|block| grow(&mut sum, &block.vector));
    unit(sum)
}

fn section_centres(files: &[Candidate]) -> Vec<(usize, Vec<f32>)> {
    let mut centres = Vec::new();
    for (file, candidate) in files.iter().enumerate() {
        let mut of_place: BTreeMap<usize, Vec<&Block>> = BTreeMap::new();
        for block in users(candidate) {
            of_place.entry(block.place).or_default().push(block);
        }
        centres.extend(of_place.into_values().map(|blocks| (file, centre(blocks.into_iter()))));
    }
    centres
}

/// Indexes by falling value, the lower index first among equals.
pub(super) fn order(values: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
    order
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
