//! What of a conversation becomes an entry, without any model.
//!
//! A memory is worth reading when it holds what the next session needs to know and nothing else.
//! So what is kept are statements: rules, conventions, decisions, causes, preferences, owners,
//! numbers. A task ("fix it", "run the tests") is not one, nor is a question, a greeting, or what
//! the assistant says it will do. In particular:
//!
//! * **Marks** (`remember:`, `#decision`, …) are taken at their word, whatever they say.
//! * **The user's statements** are sentences that reach [`cues::ENOUGH`] points. A short one, or
//!   one that begins with "it" or "that", takes the sentence before along, as it says nothing alone.
//! * **The assistant's conclusions** come only from the last message of a turn; what it says on the
//!   way is overtaken. At most three a turn, and none that repeats what the engine had told it.
//! * **A confirmed answer**: a question, a short answer, and "right" from the user make one entry
//!   that can be read alone.
//! * **A failure and what mended it**: a command that failed, the line that says why, and the files
//!   that were changed until it passed. It is marked as a tool's word.
//! * **A sitting** that changed files leaves one compact record: what was asked, what came of it.
//!
//! Apart from that one line of a failed command, output of tools, pages and files is never a
//! source, so nothing planted there can become knowledge.

pub mod cues;
mod cut;
mod marks;
mod sentences;
mod session;

pub use cut::{cut, cut_with_mark};
pub use session::Sitting;

use self::cues::{Cues, Sort};
use self::marks::Marks;
use self::sentences::{Paragraph, paragraphs, sentences};
use super::transcript::{Act, Content, Echo, Message};
use crate::config::CaptureMarks;
use crate::redact::{Counts, Redactor};
use lifecycle_phases::{Actor, Kind};

/// Longest entry made from a statement, in bytes. Longer ones are cut at a word.
const LONGEST: usize = 1200;

/// Longest entry made from a mark.
const LONGEST_MARKED: usize = 4000;

/// Most entries from one prompt and from one reply: a pasted document is not remembered whole. What
/// is marked does not count, up to a bound of its own.
const MOST_FROM_PROMPT: usize = 8;
const MOST_FROM_REPLY: usize = 3;
const MOST_MARKED: usize = 64;

/// A statement with fewer words takes the sentence before along.
const FEW_WORDS: usize = 7;

/// Words that point to the sentence before.
const POINTERS: &[&str] = &[
    "it",
    "its",
    "that",
    "this",
    "these",
    "those",
    "they",
    "so",
    "otherwise",
    "das",
    "dies",
    "diese",
    "dieser",
    "es",
    "sie",
    "sonst",
    "deshalb",
    "cela",
    "ça",
    "c'est",
    "ce",
    "ils",
    "elles",
    "sinon",
];

/// A statement worth an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The words, as they were said.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Who said it.
    pub actor: Actor,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub said: Option<i64>,
    /// Working folder at that moment.
    pub cwd: Option<String>,
    /// Byte offset of the line in the conversation file.
    pub offset: u64,
    /// Files the words name.
    pub files: Vec<String>,
}

/// A statement in one message.
struct Said {
    text: String,
    kind: Kind,
    /// Whether the speaker marked it as worth keeping.
    is_marked: bool,
}

/// Picks statements out of messages.
pub struct Extractor {
    cues: Cues,
    marks: Marks,
    redactor: Redactor,
}

/// Whether every mark is one.
///
/// # Errors
/// A mark that is empty.
pub fn check(marks: &CaptureMarks) -> crate::Result<()> {
    Marks::new(marks).map(drop)
}

impl Extractor {
    /// With the marks of the settings.
    ///
    /// # Errors
    /// A mark that is empty.
    pub fn new(marks: &CaptureMarks, redactor: Redactor) -> crate::Result<Self> {
        Ok(Self { cues: Cues::new(), marks: Marks::new(marks)?, redactor })
    }

    /// The statements in one part of a conversation, in order; `sitting` learns what was done. A
    /// message is redacted before it is taken apart, so that no cut can make a secret
    /// unrecognisable; `counts` says what was found.
    pub fn finds(
        &self,
        messages: &[Message],
        echo: &Echo,
        sitting: &mut Sitting,
        counts: &mut Counts,
    ) -> Vec<Find> {
        let messages: Vec<Message> = self.redacted(messages, counts);
        sitting.take(&messages, echo, &self.cues);
        self.finds_in(&messages, echo)
    }

    /// The messages with every secret replaced; calls that only the observer wants are left out.
    pub fn redacted(&self, messages: &[Message], counts: &mut Counts) -> Vec<Message> {
        let is_call =
            |message: &&Message| matches!(message.content, Content::Act(Act::Called { .. }));
        messages
            .iter()
            .filter(|message| !is_call(message))
            .map(|message| self.redacted_one(message, counts))
            .collect()
    }

    /// One message with every secret replaced.
    pub fn redacted_one(&self, message: &Message, counts: &mut Counts) -> Message {
        let mut clean = |text: &str| {
            let (text, found) = self.redactor.redact(text);
            counts.add(&found);
            text
        };
        let content = match &message.content {
            Content::Prompt(text) => Content::Prompt(clean(text)),
            Content::Reply(text) => Content::Reply(clean(text)),
            Content::Act(act) => Content::Act(act.map_text(&mut clean)),
        };
        message.with(content)
    }

    fn finds_in(&self, messages: &[Message], echo: &Echo) -> Vec<Find> {
        let mut found = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let texts = match &message.content {
                Content::Prompt(text) => {
                    if let Some(confirmed) = self.confirmed(&messages[..at], text) {
                        // The answer by itself is part of it.
                        found.retain(|find: &Find| !confirmed.text.contains(&find.text));
                        found.push(confirmed);
                    }
                    self.in_prompt(text)
                }
                Content::Reply(text) if is_last_of_turn(&messages[at..]) => {
                    self.in_reply(text, echo)
                }
                _ => continue,
            };
            found.extend(texts.into_iter().map(|(text, kind)| find(message, text, kind)));
        }
        found.extend(session::mended(messages));
        found
    }

    /// The conclusions in a reply that a hook handed over; the hook knew only the built-in shapes
    /// of secrets.
    pub fn in_last_message(&self, text: &str, echo: &Echo) -> Vec<(String, Kind)> {
        self.in_reply(&self.redactor.redact(text).0, echo)
    }

    fn in_prompt(&self, text: &str) -> Vec<(String, Kind)> {
        let is_knowledge = |sentence: &str| self.cues.of_user(sentence);
        bounded(self.statements(&paragraphs(text), &is_knowledge), MOST_FROM_PROMPT)
    }

    fn in_reply(&self, text: &str, echo: &Echo) -> Vec<(String, Kind)> {
        let sort = |sentence: &str| match self.cues.of_assistant(sentence) {
            Sort::Knowledge if echo.holds(sentence) => Sort::Chatter,
            sort => sort,
        };
        let paragraphs = paragraphs(text);
        let mut found = self.statements(&paragraphs, &sort);
        if found.is_empty() {
            found.extend(self.conclusion(&paragraphs).map(Said::plain));
        }
        found.retain(|said| !echo.holds(&said.text));
        bounded(found, MOST_FROM_REPLY)
    }

    /// The first sentence of a reply that may be what was found out, where none is so plainly.
    fn conclusion(&self, paragraphs: &[Paragraph]) -> Option<(String, Kind)> {
        let all = paragraphs.iter().flat_map(|paragraph| sentences(&paragraph.text));
        let first = all.into_iter().find(|sentence| self.cues.may_conclude(sentence))?;
        self.alone(first, None)
    }

    fn statements(&self, paragraphs: &[Paragraph], sort: &dyn Fn(&str) -> Sort) -> Vec<Said> {
        let marked = |text: &str, kind| {
            let text = cut_with_mark(text, LONGEST_MARKED);
            Said { text, kind, is_marked: true }
        };
        let mut found = Vec::new();
        let mut waiting: Option<Kind> = None;
        for paragraph in paragraphs {
            let split = self.marks.split(&paragraph.text);
            if let Some(kind) = waiting.filter(|_| split.is_none()) {
                found.push(marked(&paragraph.text, kind));
                waiting = waiting.filter(|_| paragraph.is_item);
                continue;
            }
            let Some(split) = split else {
                found.extend(self.unmarked(&paragraph.text, sort).into_iter().map(Said::plain));
                continue;
            };
            found.extend(self.unmarked(&split.free, sort).into_iter().map(Said::plain));
            let texts = split.texts.into_iter();
            found.extend(texts.map(|(kind, text)| marked(&self.without_talk(&text), kind)));
            waiting = split.open.or(waiting);
        }
        found
    }

    /// The marked words without tasks, questions and chatter that follow them.
    fn without_talk(&self, text: &str) -> String {
        let all = sentences(text);
        let is_talk = |s: &&&str| matches!(self.cues.of_user(s), Sort::Task | Sort::Chatter);
        let kept = all.iter().skip(1).take_while(|s| !is_talk(s)).count();
        all[..all.len().min(1 + kept)].join(" ")
    }

    /// Runs of statements in one paragraph.
    fn unmarked(&self, paragraph: &str, sort: &dyn Fn(&str) -> Sort) -> Vec<(String, Kind)> {
        let all = sentences(paragraph);
        let mut found: Vec<(String, Kind)> = Vec::new();
        let mut run_ends_at = 0;
        for (at, sentence) in all.iter().enumerate() {
            if sort(sentence) != Sort::Knowledge {
                continue;
            }
            let joins = at > 0 && run_ends_at == at && !found.is_empty();
            match found.last_mut().filter(|(text, _)| joins && text.len() < LONGEST / 2) {
                Some((text, kind)) => {
                    *text = format!("{text} {sentence}");
                    *kind = (*kind).max(self.marks.kind_of(sentence));
                }
                None => {
                    let before = at.checked_sub(1).filter(|b| *b >= run_ends_at).map(|b| all[b]);
                    let before = before.filter(|b| !matches!(sort(b), Sort::Chatter));
                    found.extend(self.alone(sentence, before.filter(|b| !cues::is_question(b))));
                }
            }
            run_ends_at = at + 1;
        }
        found.iter_mut().for_each(|(text, _)| *text = cut_with_mark(text, LONGEST));
        found
    }

    /// A statement that can be read alone; `None` when it is too short and nothing comes before.
    fn alone(&self, sentence: &str, before: Option<&str>) -> Option<(String, Kind)> {
        let words: Vec<String> = sentence.split_whitespace().map(bare).collect();
        let is_short = words.len() < FEW_WORDS && sentence.len() < 60;
        let points_back = words.first().is_some_and(|word| POINTERS.contains(&word.as_str()));
        let text = match before.filter(|_| is_short || points_back) {
            Some(before) => format!("{before} {sentence}"),
            None if words.len() < 3 && sentence.chars().count() < 12 => return None,
            None => sentence.to_string(),
        };
        Some((text, self.marks.kind_of(sentence)))
    }

    /// The question and the answer that a prompt confirms.
    fn confirmed(&self, before: &[Message], prompt: &str) -> Option<Find> {
        let paragraphs = paragraphs(prompt);
        let first = paragraphs.first()?;
        self.cues.confirms(sentences(&first.text).first()?).then_some(())?;
        let (answer, earlier) = before.split_last()?;
        let (Content::Reply(said), Content::Prompt(asked)) =
            (&answer.content, &earlier.last()?.content)
        else {
            return None;
        };
        let is_short = asked.len() <= 300 && said.len() <= 600 && !said.contains("```");
        let is_one_question = sentences(asked).len() == 1 && self.cues.asks(asked);
        let text = format!("{} {}", asked.trim(), said.trim());
        (is_short && is_one_question).then(|| find(answer, text, Kind::Insight))
    }
}

impl Said {
    fn plain((text, kind): (String, Kind)) -> Self {
        Self { text, kind, is_marked: false }
    }
}

/// The first statements, marked ones and others each up to their bound.
fn bounded(all: Vec<Said>, most: usize) -> Vec<(String, Kind)> {
    let (mut marked, mut plain) = (0, 0);
    let mut fits = |said: &Said| {
        let (count, most) =
            if said.is_marked { (&mut marked, MOST_MARKED) } else { (&mut plain, most) };
        *count += 1;
        *count <= most
    };
    all.into_iter().filter(|said| fits(said)).map(|said| (said.text, said.kind)).collect()
}

fn find(message: &Message, text: String, kind: Kind) -> Find {
    Find {
        files: session::files_in(&text),
        text,
        kind,
        actor: message.actor(),
        said: message.said,
        cwd: message.cwd.clone(),
        offset: message.offset,
    }
}

/// Whether nothing but a prompt, or nothing at all, follows the first of `messages`.
fn is_last_of_turn(messages: &[Message]) -> bool {
    messages.get(1).is_none_or(|next| matches!(next.content, Content::Prompt(_)))
}

fn bare(word: &str) -> String {
    word.trim_matches(|ch: char| !ch.is_alphanumeric()).to_lowercase()
}

#[cfg(test)]
mod tests;
