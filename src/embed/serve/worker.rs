//! The one thread that embeds. Requests that arrived while it was busy are taken together.

use crate::embed::{CHUNK, Embedder, Embedding, Role};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Documents embedded before the queue is looked at again, so that a search need not wait long.
const DOCUMENTS_AT_ONCE: usize = CHUNK / 8;

/// A request in the queue.
struct Job {
    texts: Vec<String>,
    role: Role,
    /// Whether its tokens are to be counted.
    counted: bool,
    done: Done,
    reply: oneshot::Sender<Done>,
}

/// What became of a request.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// One result a text.
    pub results: Vec<Embedding>,
    /// Tokens of all texts, where they were to be counted.
    pub tokens: usize,
}

impl Job {
    fn rest(&self) -> &[String] {
        &self.texts[self.done.results.len()..]
    }
}

/// Sends requests to the worker.
#[derive(Clone)]
pub(super) struct Queue {
    sender: UnboundedSender<Job>,
}

impl Queue {
    /// Starts the worker. It ends when the last queue is dropped.
    pub fn start(embedder: Arc<dyn Embedder>) -> Self {
        let (sender, receiver) = unbounded_channel();
        std::thread::spawn(move || work(&*embedder, receiver));
        Self { sender }
    }

    /// One result a text; none if the worker is gone.
    pub async fn embed(&self, texts: Vec<String>, role: Role, counted: bool) -> Option<Done> {
        let (reply, answer) = oneshot::channel();
        self.sender.send(Job { texts, role, counted, done: Done::default(), reply }).ok()?;
        answer.await.ok()
    }
}

fn work(embedder: &dyn Embedder, mut receiver: UnboundedReceiver<Job>) {
    let mut waiting: Vec<Job> = Vec::new();
    loop {
        if waiting.is_empty() {
            match receiver.blocking_recv() {
                Some(job) => waiting.push(job),
                None => return,
            }
        }
        while let Ok(job) = receiver.try_recv() {
            waiting.push(job);
        }
        step(embedder, &mut waiting);
        for job in waiting.extract_if(.., |job| job.rest().is_empty()) {
            // A client that went away needs no answer.
            let _ = job.reply.send(job.done);
        }
    }
}

/// Embeds some texts of the waiting requests in one call: all searches, or else a share of the
/// documents, the oldest request first.
fn step(embedder: &dyn Embedder, waiting: &mut [Job]) {
    let is_search = |job: &&mut Job| job.role == Role::Query;
    let searches = waiting.iter_mut().any(|job| is_search(&job));
    let (role, mut room) =
        if searches { (Role::Query, usize::MAX) } else { (Role::Document, DOCUMENTS_AT_ONCE) };
    let mut texts = Vec::new();
    let mut shares = Vec::new();
    for job in waiting.iter_mut().filter(|job| job.role == role) {
        let share = job.rest().len().min(room);
        texts.extend_from_slice(&job.rest()[..share]);
        room -= share;
        shares.push((share, job));
    }
    let mut results = embedder.embed(&texts, role).into_iter();
    for (share, job) in shares {
        if job.counted {
            let counts = embedder.count_tokens(&job.rest()[..share], role);
            job.done.tokens += counts.iter().sum::<usize>();
        }
        job.done.results.extend(results.by_ref().take(share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Descriptor;
    use std::sync::Mutex;

    /// Gives each text a vector of its length, and remembers the calls.
    struct Counting {
        descriptor: Descriptor,
        calls: Mutex<Vec<(usize, Role)>>,
    }

    impl Embedder for Counting {
        fn descriptor(&self) -> &Descriptor {
            &self.descriptor
        }

        fn embed(&self, texts: &[String], role: Role) -> Vec<Embedding> {
            self.calls.lock().expect("not poisoned").push((texts.len(), role));
            texts.iter().map(|text| Ok(vec![text.len() as f32])).collect()
        }

        fn count_tokens(&self, texts: &[String], _role: Role) -> Vec<usize> {
            texts.iter().map(String::len).collect()
        }
    }

    fn job(count: usize, role: Role) -> (Job, oneshot::Receiver<Done>) {
        let (reply, answer) = oneshot::channel();
        let texts = (0..count).map(|n| "x".repeat(n)).collect();
        (Job { texts, role, counted: true, done: Done::default(), reply }, answer)
    }

    #[test]
    fn waiting_requests_share_a_call_and_searches_go_first() {
        let descriptor = Descriptor::of_server("counting", 1);
        let embedder = Counting { descriptor, calls: Mutex::default() };
        let mut waiting: Vec<Job> = [
            job(3, Role::Document),
            job(DOCUMENTS_AT_ONCE, Role::Document),
            job(1, Role::Query),
            job(1, Role::Query),
        ]
        .map(|(job, _)| job)
        .into();
        step(&embedder, &mut waiting);
        step(&embedder, &mut waiting[..2]);
        step(&embedder, &mut waiting[..2]);
        let calls = embedder.calls.lock().expect("not poisoned").clone();
        let documents = DOCUMENTS_AT_ONCE;
        assert_eq!(calls, [(2, Role::Query), (documents, Role::Document), (3, Role::Document)]);
        assert!(waiting.iter().all(|job| job.rest().is_empty()));
        assert_eq!(waiting[1].done.results.last(), Some(&Ok(vec![documents as f32 - 1.0])));
        let counted: Vec<usize> = waiting.iter().map(|job| job.done.tokens).collect();
        assert_eq!(counted, [3, documents * (documents - 1) / 2, 0, 0], "each request its own");
    }
}
