//! From a reply to entries.

use super::batch::{Batch, Event};
use super::prompt::shown;
use super::reply::{Proposal, Reply};
use super::worth::Worth;
use crate::consolidate::draft::{distinct_title, title_from};
use crate::consolidate::facts::{FactKind, Facts, flat};
use crate::consolidate::gates::{self, Claim, USER};
use crate::consolidate::note::{Note, note};
use crate::consolidate::prompt::rearmed;
use crate::consolidate::reply::ReplyError;
use crate::consolidate::sentences::sentences;
use crate::consolidate::values::Comparison;
use crate::entry::{Actor, Channel, ContentHash, Entry, EntryId, Kind, Origin, Source, State};
use crate::origin::{Said, origin_of};
use std::collections::BTreeSet;

/// Longest narrative that is kept (bytes).
const LONGEST: usize = 2000;

/// Share of its words by which a fact counts as said in the narrative already.
const REPEATED: f64 = 0.8;

/// What users do in conversations; everything else that "the user" is said to have done was done
/// by the assistant or a tool.
const SAYING: &[&str] = &[
    "ask",
    "asks",
    "asked",
    "want",
    "wants",
    "wanted",
    "request",
    "requests",
    "requested",
    "say",
    "says",
    "said",
    "decide",
    "decides",
    "decided",
    "prefer",
    "prefers",
    "preferred",
    "state",
    "states",
    "stated",
    "report",
    "reports",
    "reported",
    "need",
    "needs",
    "needed",
    "confirm",
    "confirms",
    "confirmed",
    "choose",
    "chose",
    "reject",
    "rejected",
    "tell",
    "told",
    "insist",
    "insists",
    "insisted",
    "is",
    "has",
    "should",
    "must",
    "can",
    "demande",
    "veut",
    "souhaite",
    "précise",
    "décide",
    "préfère",
    "bittet",
    "will",
    "möchte",
    "sagt",
    "fragt",
    "bevorzugt",
    "verlangt",
    "entscheidet",
];

/// What a reply was worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// Names of what was refused.
    pub refused: Vec<&'static str>,
    /// Kinds that do not exist.
    pub bad_kinds: usize,
    /// Observations that say of the user what the user did not do.
    pub bad_attribution: usize,
    /// Observations with a title that another one has.
    pub duplicate_titles: usize,
    /// Observations with a title that fits anything.
    pub generic_titles: usize,
    /// Observations without any file.
    pub no_file: usize,
    /// Characters of the events and of the narratives.
    pub chars: (usize, usize),
}

/// What follows from a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Observations that passed.
    pub entries: Vec<Entry>,
    /// Why there are none: the model declined (`Ok`), or nothing passed (`Err`).
    pub nothing: Option<Result<String, String>>,
    /// Whether the batch may give something in another attempt.
    pub again: bool,
    /// What the reply was worth.
    pub measures: Measures,
}

/// Decides on a model's reply. `taken` holds titles in lower case that other entries have;
/// `channel` is the door by which the conversation came.
pub fn decide(
    batch: &Batch,
    reply: &Result<Reply, ReplyError>,
    rules: &str,
    generated_by: &str,
    taken: &BTreeSet<String>,
) -> Decision {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return unusable(error),
    };
    if let Some(reason) = &reply.declined {
        let nothing = Some(Ok(format!("the model found nothing: {reason}")));
        let measures = Measures { refused: vec!["declined"], ..Measures::default() };
        return Decision { nothing, measures, ..Decision::default() };
    }
    let mut judge = Judge::new(batch, rules, generated_by, taken);
    judge.decision.measures.bad_kinds = reply.bad_kinds;
    for proposal in &reply.observations {
        judge.observation(proposal);
    }
    judge.finish()
}

fn unusable(error: &ReplyError) -> Decision {
    let measures = Measures { refused: vec![error.name()], ..Measures::default() };
    let nothing = Some(Err(format!("unusable reply: {error}")));
    Decision { nothing, again: true, measures, ..Decision::default() }
}

struct Judge<'a> {
    batch: &'a Batch,
    rules: &'a str,
    generated_by: &'a str,
    taken: BTreeSet<String>,
    /// The lines of the prompt as notes, in the same order.
    notes: Vec<Note>,
    /// For each line its event.
    events: Vec<usize>,
    labels: Vec<String>,
    worth: Worth,
    decision: Decision,
    why: String,
}

impl<'a> Judge<'a> {
    fn new(
        batch: &'a Batch,
        rules: &'a str,
        generated_by: &'a str,
        taken: &BTreeSet<String>,
    ) -> Self {
        let lines = shown(batch);
        let as_note = |line: &super::prompt::Shown<'_>| {
            let actor = match line.origin {
                Origin::User => Actor::User,
                Origin::Assistant => Actor::Assistant,
                Origin::Tool | Origin::Web => Actor::Tool,
            };
            let source = Source::new(Channel::Scan, actor).with_origin(line.origin);
            // The head names the tool and how the call ended, which a narrative may say too.
            let text = format!("{}\n{}", line.text, line.head);
            note(&Entry::new(&text, Kind::Insight, None, batch.said, source))
        };
        let mut judge = Self {
            batch,
            rules,
            generated_by,
            taken: taken.clone(),
            notes: lines.iter().map(as_note).collect(),
            events: lines.iter().map(|line| line.event).collect(),
            labels: lines.iter().map(|line| line.label.clone()).collect(),
            worth: Worth::new(batch, &lines),
            decision: Decision::default(),
            why: String::new(),
        };
        judge.decision.measures.chars.0 = lines.iter().map(|line| line.text.chars().count()).sum();
        judge
    }

    fn observation(&mut self, proposal: &Proposal) {
        let narrative = self.worth.without_heads(&rearmed(&proposal.narrative));
        let narrative = self.attributed(&narrative);
        self.decision.measures.chars.1 += narrative.chars().count();
        let facts = self.facts(proposal, &narrative);
        let refusal = self.refusal("", &narrative);
        let refusal = refusal.or_else(|| self.worth.narrative(&narrative, &self.notes));
        if let Some(refusal) = refusal {
            self.refuse(&refusal);
            return;
        }
        let cited = self.cited(proposal);
        let (title, duplicate) = self.title(&rearmed(&proposal.title), &narrative);
        self.decision.measures.duplicate_titles += usize::from(duplicate);
        self.taken.insert(title.to_lowercase());
        let entry = self.entry(proposal, title, text_of(&narrative, &facts), &cited);
        self.decision.measures.no_file += usize::from(entry.source.files.is_empty());
        if !self.decision.entries.iter().any(|known| known.id == entry.id) {
            self.decision.entries.push(entry);
        }
    }

    fn refusal(&self, title: &str, text: &str) -> Option<gates::Refusal> {
        if text.len() > LONGEST {
            return Some(gates::Refusal::TooLong(text.len()));
        }
        let found = Comparison::default();
        let all: Vec<usize> = (0..self.notes.len()).collect();
        let claim = Claim {
            title,
            text,
            notes: &self.notes,
            sources: &all,
            found: &found,
            rules: self.rules,
        };
        gates::of_events(&claim).into_iter().next()
    }

    fn refuse(&mut self, refusal: &gates::Refusal) {
        self.decision.measures.refused.push(refusal.name());
        self.why = refusal.to_string();
    }

    /// The narrative with what the user did not do put right: the one who acts in a batch of calls
    /// is the assistant.
    fn attributed(&mut self, narrative: &str) -> String {
        let user_spoke = self.notes.iter().any(Note::is_user);
        let mut wrong = false;
        let mended: Vec<String> = sentences(narrative)
            .into_iter()
            .map(|sentence| match misattributed(&sentence, user_spoke) {
                Some(mended) => {
                    wrong = true;
                    mended
                }
                None => sentence,
            })
            .collect();
        self.decision.measures.bad_attribution += usize::from(wrong);
        if wrong { mended.join(" ") } else { narrative.trim().to_string() }
    }

    /// Facts that the events bear out and the narrative does not say already.
    fn facts(&mut self, proposal: &Proposal, narrative: &str) -> Vec<String> {
        let said = Facts::of(narrative);
        let mut kept: Vec<String> = Vec::new();
        for fact in proposal.facts.iter().map(|fact| rearmed(fact)) {
            let own = Facts::of(&fact);
            let is_known = repeats(&said, &own) || kept.contains(&fact) || self.is_asked(&fact);
            if own.words.is_empty() || is_known || self.worth.reads_aloud(&fact) {
                continue;
            }
            let refusal = self.refusal("", &fact);
            match refusal.or_else(|| self.worth.fact(&fact, &self.notes)) {
                Some(refusal) => self.decision.measures.refused.push(match refusal {
                    gates::Refusal::InventedFact(_) => "invented_fact_listed",
                    other => other.name(),
                }),
                None => kept.push(fact),
            }
        }
        kept
    }

    /// Whether the user asked for it in these words: a task is no fact.
    fn is_asked(&self, fact: &str) -> bool {
        let fact = flat(fact);
        self.notes.iter().any(|note| note.is_user() && note.facts.flat.contains(&fact))
    }

    fn title(&mut self, title: &str, narrative: &str) -> (String, bool) {
        let found = Comparison::default();
        let claim = Claim {
            title,
            text: narrative,
            notes: &self.notes,
            sources: &[],
            found: &found,
            rules: self.rules,
        };
        let first = || title_from(sentences(narrative).first().map_or(narrative, String::as_str));
        let generic = gates::is_generic(&claim) || self.worth.reads_aloud(title);
        let invented = !generic && self.refusal("", title).is_some();
        self.decision.measures.generic_titles += usize::from(generic || invented);
        let title = if generic || invented { first() } else { title.trim().to_string() };
        distinct_title(&title, narrative, &self.taken)
    }

    /// The events that an observation rests on: those it names, else all.
    fn cited(&self, proposal: &Proposal) -> BTreeSet<usize> {
        let place = |label: &String| self.labels.iter().position(|own| own == label);
        let named: BTreeSet<usize> =
            proposal.events.iter().filter_map(place).map(|line| self.events[line]).collect();
        let calls = named.iter().any(|&at| matches!(self.batch.events[at], Event::Did { .. }));
        if calls { named } else { (0..self.batch.events.len()).collect() }
    }

    fn entry(
        &self,
        proposal: &Proposal,
        title: String,
        text: String,
        cited: &BTreeSet<usize>,
    ) -> Entry {
        let origin = self.origin(&text);
        let kind = kind(proposal.kind, origin);
        let source = Source {
            conversation: self.batch.conversation.clone(),
            path: Some(self.batch.path.clone()),
            offset: Some(self.batch.offset),
            files: self.files(cited),
            ..Source::new(Channel::Scan, self.actor(proposal, origin)).with_origin(origin)
        };
        let content_hash = ContentHash::of(&text);
        let project = self.batch.project.clone();
        Entry {
            id: EntryId::derive(project.as_deref(), &text),
            text,
            title: Some(title),
            content_hash,
            kind,
            project,
            state: State::Buffered,
            created: self.batch.said,
            source,
            generated_by: Some(self.generated_by.to_string()),
            recalls: 0,
            reprieves: 0,
            protected: false,
        }
    }

    /// Whose statement the text is. What the assistant put into a tool is not its conclusion: it may
    /// have been told to by a page.
    fn origin(&self, text: &str) -> Origin {
        let is_conclusion =
            |line: &usize| matches!(self.batch.events[self.events[*line]], Event::Said { .. });
        let said: Vec<Said<'_>> = (0..self.notes.len())
            .map(|line| {
                let own = self.notes[line].entry.source.origin();
                let origin = if is_conclusion(&line) { own } else { own.max(Origin::Tool) };
                Said { origin, facts: &self.notes[line].facts }
            })
            .collect();
        origin_of(text, &said)
    }

    /// Who did it: the user only where the user's own words state it.
    fn actor(&self, proposal: &Proposal, origin: Origin) -> Actor {
        match (origin, proposal.actor) {
            (Origin::User, _) => Actor::User,
            (_, Some(Actor::Tool)) => Actor::Tool,
            _ => Actor::Assistant,
        }
    }

    /// Files of the events, never of the model. Where the events it names changed nothing, those that
    /// did are added.
    fn files(&self, cited: &BTreeSet<usize>) -> Vec<String> {
        let changes = |at: usize| matches!(self.batch.events[at], Event::Did { changes: true, .. });
        let mut events = cited.clone();
        if !cited.iter().any(|&at| changes(at)) {
            events.extend((0..self.batch.events.len()).filter(|&at| changes(at)));
        }
        let mut files = BTreeSet::new();
        for at in events {
            if let Event::Did { files: own, input, .. } = &self.batch.events[at] {
                files.extend(own.iter().filter(|file| is_file(file)).cloned());
                let paths = Facts::of(input).facts.into_iter();
                let paths = paths.filter(|fact| fact.kind == FactKind::Path && is_file(&fact.key));
                files.extend(paths.map(|fact| fact.shown));
            }
        }
        files.into_iter().take(16).collect()
    }

    fn finish(mut self) -> Decision {
        if self.decision.entries.is_empty() {
            self.decision.nothing = Some(Err(format!("nothing passed: {}", self.why)));
        }
        self.decision
    }
}

/// A path whose last part has an ending: a folder or a device is no file that was worked on.
fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(stem, ending)| (stem.len(), ending));
    ending.is_some_and(|(stem, ending)| {
        stem > 0 && (1..=6).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
    })
}

/// The sentence with the assistant in the user's place, where the user did not do this.
fn misattributed(sentence: &str, user_spoke: bool) -> Option<String> {
    let lower = sentence.to_lowercase();
    let user = USER.iter().find(|user| {
        lower.strip_prefix(**user).is_some_and(|rest| rest.starts_with([' ', '\'']))
    })?;
    let rest = sentence.get(user.len()..)?;
    let verb: String = rest
        .trim_start_matches(['\'', 's'])
        .split_whitespace()
        .find(|word| !matches!(*word, "also" | "then" | "a" | "has" | "have" | "had" | "hat"))
        .unwrap_or("")
        .to_lowercase();
    let says = SAYING.contains(&verb.trim_matches(|ch: char| !ch.is_alphanumeric()));
    (!user_spoke || !says).then(|| format!("The assistant{rest}"))
}

fn repeats(said: &Facts, own: &Facts) -> bool {
    let words = own.words.iter().filter(|word| said.says(word)).count();
    #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
    let enough = words as f64 >= own.words.len() as f64 * REPEATED;
    enough && own.hard().all(|fact| said.states(fact))
}

/// A tool's word is no decision: a decision is protected for ever.
fn kind(proposed: Option<Kind>, origin: Origin) -> Kind {
    match proposed {
        Some(Kind::Decision) if !origin.is_trusted() => Kind::Discovery,
        Some(kind) => kind,
        None => Kind::Discovery,
    }
}

fn text_of(narrative: &str, facts: &[String]) -> String {
    let mut text = narrative.to_string();
    for fact in facts {
        text.push_str("\n- ");
        text.push_str(fact);
    }
    text
}
