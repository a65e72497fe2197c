//! Which section of a file a text belongs to.
//!
//! Sections compete with five signals: the three nearest blocks of the section, the nearest block
//! by cosine, the section's centre, its wording, and how many blocks it has (a section that took
//! many lines takes the next one more often). The weights come from a conditional logit, so the
//! exponentials of the sums are odds: within a file the largest one names the section, and their
//! sum says how much the file as a whole offers, which is one of the signals of the file.

use super::directions::{add, dot, unit};
use super::rank::{Block, Candidate};
use super::style::{Counts, Look, Rates};

const NEAREST: f32 = 0.30;
const COSINE: f32 = 1.5;
const CENTRE: f32 = 4.4;
const STYLE: f32 = 0.42;
const SIZE: f32 = 1.0;

/// Blocks of which a section's sum of nearest blocks is taken at most.
const AMONG: usize = 60;
/// Blocks by which a section's rates are shrunk towards its file's.
const PRIOR: f32 = 3.0;

/// A section with text of the user's in it.
struct Section {
    file: usize,
    /// Index in [`Candidate::places`].
    place: usize,
    /// Unit centre of its blocks, pulled towards its file's; what all share is taken out.
    centre: Vec<f32>,
    style: Rates,
    /// Logarithm of the number of its blocks.
    size: f32,
}

/// The sections of all files of one scope.
pub struct Sections {
    all: Vec<Section>,
    /// The section of each block, in the order of the blocks.
    of_block: Vec<usize>,
}

/// One block as the sections are made from it.
pub struct Member<'a> {
    /// Index of its file.
    pub file: usize,
    /// The block.
    pub block: &'a Block,
    /// Its vector without what all blocks share.
    pub own: &'a [f32],
}

/// What a query is to every block.
pub struct Nearness<'a> {
    /// Words, character runs and vector together.
    pub fused: &'a [f32],
    /// Plain cosine.
    pub cosines: &'a [f32],
    /// The query's vector without what all blocks share.
    pub own: &'a [f32],
    /// How it is worded.
    pub look: &'a Look,
    /// Its likelihood in an average file.
    pub average: f32,
}

impl Sections {
    /// Groups blocks; those of a file follow each other. `styles` are the files' rates.
    pub fn of(files: &[Candidate], members: &[Member<'_>], styles: &[Rates]) -> Self {
        let mut number: Vec<Vec<Option<usize>>> =
            files.iter().map(|file| vec![None; file.places.len().max(1)]).collect();
        let mut groups: Vec<(usize, usize, Vec<&Member<'_>>)> = Vec::new();
        let mut of_block = Vec::with_capacity(members.len());
        for member in members {
            let place = member.block.place.min(number[member.file].len() - 1);
            let n = *number[member.file][place].get_or_insert_with(|| {
                groups.push((member.file, place, Vec::new()));
                groups.len() - 1
            });
            groups[n].2.push(member);
            of_block.push(n);
        }
        let centres = file_centres(files.len(), members);
        let section = |(file, place, members): (usize, usize, Vec<&Member<'_>>)| {
            let mut counts = Counts::default();
            let mut centre = centres[file].clone();
            for member in &members {
                counts.add(&Look::of(&member.block.text));
                grow(&mut centre, member.own);
            }
            let size = (members.len() as f32).ln();
            let style = counts.shrunk(&styles[file], PRIOR);
            Section { file, place, centre: unit(centre), style, size }
        };
        Self { all: groups.into_iter().map(section).collect(), of_block }
    }

    /// The odds of each section as a logarithm, in the order of [`Sections::places`].
    pub fn scores(&self, query: &Nearness<'_>) -> Vec<f32> {
        let mut scores: Vec<f32> = self.nearest_three(query.fused);
        scores.iter_mut().for_each(|score| *score *= NEAREST);
        let mut cosines = vec![0.0_f32; self.all.len()];
        for (section, cosine) in self.of_block.iter().zip(query.cosines) {
            cosines[*section] = cosines[*section].max(*cosine);
        }
        for ((score, section), cosine) in scores.iter_mut().zip(&self.all).zip(cosines) {
            *score += COSINE * cosine
                + CENTRE * dot(&section.centre, query.own)
                + STYLE * (section.style.likelihood(query.look) - query.average)
                + SIZE * section.size;
        }
        scores
    }

    /// The file and the place of each section.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.all.iter().map(|section| (section.file, section.place))
    }

    /// Logarithm of the summed odds of each file's sections; a file without text has the least that
    /// any section has.
    pub fn summed(&self, files: usize, scores: &[f32]) -> Vec<f32> {
        let mut most = vec![f32::NEG_INFINITY; files];
        for (section, score) in self.all.iter().zip(scores) {
            most[section.file] = most[section.file].max(*score);
        }
        let mut sums = vec![0.0_f32; files];
        for (section, score) in self.all.iter().zip(scores) {
            sums[section.file] += (score - most[section.file]).exp();
        }
        let least = scores.iter().copied().fold(f32::INFINITY, f32::min);
        let least = if least.is_finite() { least } else { 0.0 };
        let logarithm = |(most, sum): (f32, f32)| if sum > 0.0 { most + sum.ln() } else { least };
        most.into_iter().zip(sums).map(logarithm).collect()
    }

    fn nearest_three(&self, fused: &[f32]) -> Vec<f32> {
        let (mut sums, mut counts) = (vec![0.0; self.all.len()], vec![0; self.all.len()]);
        for n in super::rank::order(fused).into_iter().take(AMONG) {
            let section = self.of_block[n];
            if counts[section] < 3 {
                counts[section] += 1;
                sums[section] += fused[n];
            }
        }
        sums
    }
}

/// The mean of each file's vectors, not made unit: the weight of one block.
fn file_centres(files: usize, members: &[Member<'_>]) -> Vec<Vec<f32>> {
    let (mut sums, mut counts) = (vec![Vec::new(); files], vec![0.0_f32; files]);
    for member in members {
        grow(&mut sums[member.file], member.own);
        counts[member.file] += 1.0;
    }
    for (sum, count) in sums.iter_mut().zip(counts) {
        sum.iter_mut().for_each(|value| *value /= count.max(1.0));
    }
    sums
}

/// Adds a vector to a sum that may still be empty.
pub fn grow(sum: &mut Vec<f32>, vector: &[f32]) {
    if sum.len() < vector.len() {
        sum.resize(vector.len(), 0.0);
    }
    add(sum, vector, 1.0);
}
