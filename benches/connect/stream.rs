//! A stream of notes on disk: texts and vectors are read when they are asked for.

use super::Result;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The notes of a folder.
pub struct Stream {
    texts: File,
    /// Where each line begins; one more for the end.
    lines: Vec<u64>,
    projects: Vec<u16>,
    /// Names of the projects.
    pub names: Vec<String>,
    vectors: File,
    /// Length of a vector.
    pub dimensions: usize,
    bytes: usize,
}

impl Stream {
    /// Reads what is needed to find each note.
    pub fn open(folder: &Path) -> Result<Self> {
        let meta: Value = serde_json::from_reader(File::open(folder.join("meta.json"))?)?;
        let dimensions = usize::try_from(meta["dim"].as_u64().ok_or("no vectors")?)?;
        let bytes = if meta["vectors"] == "f32" { 4 } else { 2 };
        let texts = File::open(folder.join("notes.jsonl"))?;
        let (mut lines, mut projects, mut numbers) = (vec![0], Vec::new(), BTreeMap::new());
        let (mut reader, mut line, mut end) = (BufReader::new(&texts), Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            end += line.len() as u64;
            lines.push(end);
            let row: Value = serde_json::from_slice(&line)?;
            let next = u16::try_from(numbers.len())?;
            let name = row["project"].as_str().unwrap_or_default().to_string();
            projects.push(*numbers.entry(name).or_insert(next));
            line.clear();
        }
        let mut names = vec![String::new(); numbers.len()];
        numbers.into_iter().for_each(|(name, number)| names[usize::from(number)] = name);
        let vectors = File::open(folder.join("vectors.bin"))?;
        Ok(Self { texts, lines, projects, names, vectors, dimensions, bytes })
    }

    /// Number of notes.
    pub fn len(&self) -> usize {
        self.projects.len()
    }

    /// Number of the project of a note.
    pub fn project(&self, place: usize) -> u16 {
        self.projects[place]
    }

    /// The text of a note; empty where the stream has none.
    pub fn text(&self, place: usize) -> String {
        let (start, end) = (self.lines[place], self.lines[place + 1]);
        let mut line = vec![0; usize::try_from(end - start).unwrap_or_default()];
        let read = self.texts.read_exact_at(&mut line, start);
        let row: Value =
            read.ok().and_then(|()| serde_json::from_slice(&line).ok()).unwrap_or_default();
        row["text"].as_str().unwrap_or_default().to_string()
    }

    /// The vector of a note.
    pub fn vector(&self, place: usize) -> Option<Vec<f32>> {
        let width = self.dimensions * self.bytes;
        let mut row = vec![0; width];
        self.vectors.read_exact_at(&mut row, (place * width) as u64).ok()?;
        Some(match self.bytes {
            4 => row.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
            _ => row.as_chunks::<2>().0.iter().map(|two| half(u16::from_le_bytes(*two))).collect(),
        })
    }
}

/// A finite 16-bit float.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction as f32 / 1024.0 * 2f32.powi(-14),
        _ => sign * f32::from_bits((exponent + 112) << 23 | fraction << 13),
    }
}
