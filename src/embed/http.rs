//! Any server with `POST /v1/embeddings`: Ollama, llama-server, TEI, vLLM, a cluster behind one
//! address, or our own.
//!
//! A refused batch is halved until the texts that are to blame stand alone. A single text that is
//! refused is tried in windows, since too long is the usual reason; the length that worked is kept
//! for the texts after it. When no text at all succeeded, one harmless text is tried: if that
//! fails too, the server is to blame and no text is.

mod request;

pub use self::request::read_answer;

use self::request::{Client, Failure};
use super::vector::{unit, weighted_mean};
use super::{Descriptor, EmbedError, Embedder, Embedding, Role, VectorProblem};
use crate::config::EmbedSettings;
use crate::error::Result;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Texts of one request at most.
const BATCH: usize = 32;
/// Characters a token has at least in ordinary text; only bounds the size of a request.
const CHARS_A_TOKEN: usize = 4;
/// No real model refuses a window this short for its length, so below it the text is to blame.
const SHORTEST_WINDOW: usize = 1000;
/// Sound for any server that embeds at all.
const PROBE: &str = "A short plain sentence.";

/// Embeds through a server.
pub struct HttpEmbedder {
    descriptor: Descriptor,
    client: Client,
    batch_chars: usize,
    parallel: usize,
    dimensions: OnceLock<usize>,
    /// Longest text in characters that is sent whole, once a refusal has taught it.
    window: AtomicUsize,
}

impl HttpEmbedder {
    /// An embedder for the server of the settings; no request is made yet.
    pub fn new(descriptor: Descriptor, settings: &EmbedSettings) -> Result<Self> {
        let dimensions = OnceLock::new();
        if descriptor.dimensions > 0 {
            dimensions.get_or_init(|| descriptor.dimensions);
        }
        Ok(Self {
            client: Client::new(settings)?,
            batch_chars: settings.batch_tokens * CHARS_A_TOKEN,
            parallel: settings.url_parallel.max(1),
            descriptor,
            dimensions,
            window: AtomicUsize::new(usize::MAX),
        })
    }

    fn embed_batch(&self, texts: &[String]) -> Vec<Embedding> {
        let texts_refs: Vec<&str> = texts.iter().map(String::as_str).collect();
        match self.request(&texts_refs) {
            Ok(vectors) => vectors,
            Err(Failure::Server(problem)) => {
                texts.iter().map(|_| Err(EmbedError::Server(problem.clone()))).collect()
            }
            Err(Failure::Refused(problem)) => match texts {
                [text] => vec![self.in_windows(text, problem)],
                _ => {
                    let (left, right) = texts.split_at(texts.len() / 2);
                    let mut results = self.embed_batch(left);
                    results.extend(self.embed_batch(right));
                    results
                }
            },
        }
    }

    /// Tries ever shorter windows of a refused text; gives the first refusal if none is taken.
    fn in_windows(&self, text: &str, refusal: String) -> Embedding {
        let mut size = text.chars().count();
        while size / 2 >= SHORTEST_WINDOW {
            size /= 2;
            match self.try_windows(text, size) {
                Err(Failure::Refused(_)) => continue,
                Err(Failure::Server(problem)) => return Err(EmbedError::Server(problem)),
                Ok(embedding) => {
                    self.window.fetch_min(size, Ordering::Relaxed);
                    return embedding;
                }
            }
        }
        Err(EmbedError::Refused(refusal))
    }

    /// The mean over windows of `size` characters. The first goes alone: it shows whether the size
    /// is taken, at the price of one request.
    fn try_windows(&self, text: &str, size: usize) -> Result<Embedding, Failure> {
        let windows = windows(text, size);
        let (first, rest) = windows.split_at(1);
        let mut vectors = self.request(first)?;
        for batch in rest.chunks((self.batch_chars / size).clamp(1, BATCH)) {
            vectors.extend(self.request(batch)?);
        }
        let weights = windows.iter().map(|window| window.chars().count() as f32);
        let parts: Result<Vec<(f32, Vec<f32>)>, EmbedError> =
            weights.zip(vectors).map(|(weight, vector)| Ok((weight, vector?))).collect();
        Ok(parts.and_then(|parts| {
            weighted_mean(&parts, self.known_dimensions()).map_err(EmbedError::Vector)
        }))
    }

    fn request(&self, texts: &[&str]) -> Result<Vec<Embedding>, Failure> {
        let answers = self.client.embeddings(texts)?;
        Ok(answers.into_iter().map(|answer| self.check(answer)).collect())
    }

    fn check(&self, answer: Vec<f32>) -> Embedding {
        let got = answer.len();
        let vector = unit(answer, got).map_err(EmbedError::Vector)?;
        // The first sound vector fixes the length, whichever request brought it.
        match *self.dimensions.get_or_init(|| got) {
            want if want == got => Ok(vector),
            want => Err(EmbedError::Vector(VectorProblem::Length { got, want })),
        }
    }

    fn known_dimensions(&self) -> usize {
        self.dimensions.get().copied().unwrap_or_default()
    }

    fn embed_text_or_windows(&self, batch: &[String]) -> Vec<Embedding> {
        let limit = self.window.load(Ordering::Relaxed);
        match batch {
            [text] if text.chars().count() > limit => match self.try_windows(text, limit) {
                Ok(embedding) => vec![embedding],
                Err(Failure::Refused(problem)) => vec![self.in_windows(text, problem)],
                Err(Failure::Server(problem)) => vec![Err(EmbedError::Server(problem))],
            },
            _ => self.embed_batch(batch),
        }
    }

    /// The results of all batches in order, `parallel` requests at a time.
    fn embed_all(&self, batches: &[&[String]]) -> Vec<Embedding> {
        let next = AtomicUsize::new(0);
        let gone: OnceLock<String> = OnceLock::new();
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(at) else { return done };
                done.push((at, self.embed_unless_gone(batch, &gone)));
            }
        };
        let mut found = if self.parallel.min(batches.len()) < 2 {
            work()
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> =
                    (0..self.parallel.min(batches.len())).map(|_| scope.spawn(work)).collect();
                workers
                    .into_iter()
                    .flat_map(|worker| {
                        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    })
                    .collect()
            })
        };
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().flat_map(|(_, results)| results).collect()
    }

    /// Once the server went away it is not asked again: each batch would only cost a time-out.
    fn embed_unless_gone(&self, batch: &[String], gone: &OnceLock<String>) -> Vec<Embedding> {
        if let Some(problem) = gone.get() {
            return batch.iter().map(|_| Err(EmbedError::Server(problem.clone()))).collect();
        }
        let results = self.embed_text_or_windows(batch);
        if let Some(Err(EmbedError::Server(problem))) = results.last() {
            gone.get_or_init(|| problem.clone());
        }
        results
    }

    /// Blames the server when nothing worked and a harmless text does not work either.
    fn blame(&self, mut results: Vec<Embedding>) -> Vec<Embedding> {
        let is_doubtful = |result: &Embedding| {
            matches!(result, Err(EmbedError::Refused(_) | EmbedError::Vector(_)))
        };
        if results.iter().any(Result::is_ok) || !results.iter().any(is_doubtful) {
            return results;
        }
        if let Some(problem) = self.probe() {
            for result in results.iter_mut().filter(|result| is_doubtful(result)) {
                *result = Err(EmbedError::Server(problem.clone()));
            }
        }
        results
    }

    fn probe(&self) -> Option<String> {
        match self.request(&[PROBE]) {
            Ok(mut vectors) => match vectors.pop() {
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(error.to_string()),
                None => Some(VectorProblem::Missing.to_string()),
            },
            Err(Failure::Refused(problem) | Failure::Server(problem)) => Some(problem),
        }
    }
}

impl Embedder for HttpEmbedder {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding> {
        let prefix = self.descriptor.prefix(role);
        let is_blank = |text: &String| text.trim().is_empty();
        let prefixed: Vec<String> = texts
            .iter()
            .filter(|text| !is_blank(text))
            .map(|text| format!("{prefix}{text}"))
            .collect();
        let found = self.embed_all(&batches(&prefixed, self.batch_chars));
        let mut found = self.blame(found).into_iter();
        let mut next = || found.next().unwrap_or_else(|| Err(EmbedError::missing()));
        texts
            .iter()
            .map(|text| if is_blank(text) { Err(EmbedError::Blank) } else { next() })
            .collect()
    }

    fn expect_dimensions(&self, dimensions: usize) {
        if dimensions > 0 {
            self.dimensions.get_or_init(|| dimensions);
        }
    }
}

/// Runs of texts that share a request: bounded in number and in characters.
fn batches(texts: &[String], chars: usize) -> Vec<&[String]> {
    let mut batches = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut size = 0;
        let count = rest
            .iter()
            .take(BATCH)
            .take_while(|text| {
                size += text.len();
                size <= chars
            })
            .count()
            .max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}

/// Pieces of `size` characters; a cut is never inside a character and, where one is near, at
/// white space.
fn windows(text: &str, size: usize) -> Vec<&str> {
    let mut windows = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(size) {
        let near = rest[..end].rfind(char::is_whitespace).filter(|&space| space > end / 2);
        let (window, others) = rest.split_at(near.unwrap_or(end));
        windows.push(window);
        rest = others;
    }
    windows.push(rest);
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_are_the_text_and_short_enough(text in "\\PC{0,300}", size in 1usize..50) {
            let windows = windows(&text, size);
            prop_assert_eq!(windows.concat(), text.as_str());
            prop_assert!(windows.iter().all(|window| window.chars().count() <= size));
        }
    }
}
