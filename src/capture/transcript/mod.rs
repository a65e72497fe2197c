//! Conversation files, read as a stream of bytes.
//!
//! Files of 300 MB and lines of 60 MB occur, files grow while they are read, and every line may be
//! broken. So a file is never held: lines go by one at a time, one that is longer than
//! [`Limits::line`] is passed over, and what was said is handed on in parts of bounded size. What
//! is kept for a whole file is the [`tree`] (some ten bytes a line).
//!
//! A [`Cursor`] remembers the end of the last complete line and a hash of the bytes before it.
//! When the file still holds those bytes there, reading goes on from that place and touches only
//! what is new; the tree then knows only the new lines, and a parent from before stands in as an
//! unknown one. That is enough: a branch that was abandoned before is before the cursor, one that
//! is abandoned later was said when it was read. What pages and the engine itself said `before`
//! the cursor is heard again, so that it is not taken for news when it is quoted later. When the
//! file became smaller or differs, it is read from the start, and the buffer phase recognises what
//! it has already.
//!
//! Whose words the output of a call are is told by `voice`; `own` remembers them and knows them again
//! when the assistant repeats them; `before` goes through what was read earlier.

mod before;
mod claude;
mod codex;
pub mod json;
mod lines;
mod machine;
mod own;
mod tree;
pub mod voice;

pub use before::LOOK_BACK;
pub use own::Echo;
pub use voice::Voice;

use self::before::{Before, before};
use self::lines::{Line, Lines};
use self::tree::{Node, Role, Tree};
use super::extract::cut;
use super::short_hash;
use lifecycle_phases::Actor;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Result, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the offset that are compared before reading on.
const CHECKED: u64 = 4096;

/// How much of one command's output is looked at.
const OUTPUT: usize = 2048;

/// How far a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// End of the last complete line that was read.
    pub offset: u64,
    /// Length and hash of the bytes before the offset, `length:hex`; empty at the start.
    pub check: String,
}

/// Bounds of one reading.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest line that is parsed, in bytes.
    pub line: usize,
    /// The longest message that is kept, in bytes; the rest is cut off at a whole character.
    pub message: usize,
    /// Bytes of messages after which a part is handed on.
    pub part: usize,
    /// Whether every call of a tool is wanted, for the observer.
    pub calls: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 8 << 20, message: 64 << 10, part: 8 << 20, calls: false }
    }
}

/// What one message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The user's words.
    Prompt(String),
    /// The assistant's words.
    Reply(String),
    /// Something the assistant did.
    Act(Act),
}

/// Something the assistant did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Changed a file.
    Edited {
        /// As the assistant named it.
        file: String,
        /// The change, shortened; empty unless calls are wanted.
        change: String,
        /// Whether it failed; `None` while no result was seen.
        failed: Option<bool>,
    },
    /// Called another tool; only where calls are wanted ([`Limits::calls`]).
    Called {
        /// Name of the tool.
        tool: String,
        /// What it was given, as JSON.
        input: String,
        /// A file that it names.
        file: Option<String>,
        /// Whether it failed; `None` while no result was seen.
        failed: Option<bool>,
        /// Beginning and end of its output.
        output: String,
    },
    /// Ran a command.
    Ran {
        /// The command line.
        command: String,
        /// Whether it failed; `None` while no result was seen.
        failed: Option<bool>,
        /// The end of its output.
        output: String,
    },
}

impl Act {
    fn ran(command: &str) -> Self {
        Self::Ran { command: cut(command, OUTPUT).to_string(), failed: None, output: String::new() }
    }

    /// The same act with its texts changed by `change`.
    pub fn map_text(&self, change: &mut dyn FnMut(&str) -> String) -> Self {
        match self {
            Self::Edited { file, change: text, failed } => {
                Self::Edited { file: file.clone(), change: change(text), failed: *failed }
            }
            Self::Called { tool, input, file, failed, output } => Self::Called {
                tool: tool.clone(),
                input: change(input),
                file: file.clone(),
                failed: *failed,
                output: change(output),
            },
            Self::Ran { command, failed, output } => {
                Self::Ran { command: change(command), failed: *failed, output: change(output) }
            }
        }
    }
}

/// One message with its circumstances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub content: Content,
    /// Milliseconds since 1970-01-01 UTC, where the line has a readable time.
    pub said: Option<i64>,
    /// Working folder at that moment.
    pub cwd: Option<String>,
    /// Byte offset of its line.
    pub offset: u64,
    node: Node,
    reply: Option<String>,
}

impl Message {
    /// The same message with another content.
    pub fn with(&self, content: Content) -> Self {
        Self { content, ..self.clone() }
    }

    /// Who said or did it.
    pub fn actor(&self) -> Actor {
        match self.content {
            Content::Prompt(_) => Actor::User,
            _ => Actor::Assistant,
        }
    }
}

/// What is known of a file after reading.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Where to go on next time.
    pub cursor: Cursor,
    /// Whether the cursor that was given did not fit and the file was read from the start.
    pub restarted: bool,
    /// Bytes of complete lines that were read this time.
    pub read: u64,
    /// Id of the conversation.
    pub session: Option<String>,
    /// Working folder at the end.
    pub cwd: Option<String>,
    /// A sub-agent's conversation: nothing of it counts.
    pub sub_agent: bool,
    /// Complete lines that are no JSON object.
    pub unparsable: u64,
    /// Complete lines that were too long.
    pub too_long: u64,
    /// Prompts that a person typed, abandoned branches left out.
    pub prompts: u64,
}

/// Reads `file` on from `cursor` and hands what was said to `part`, in order, in parts of bounded
/// size, each with what the engine itself had put into the conversation so far.
///
/// # Errors
/// The file cannot be opened or read. Nothing that it contains is an error.
pub fn read(
    file: &Path,
    cursor: &Cursor,
    limits: Limits,
    part: &mut dyn FnMut(&[Message], &Echo),
) -> Result<Reading> {
    let mut input = crate::regular::open(file)?;
    let fits = cursor.offset > 0 && check_at(&mut input, cursor.offset)? == cursor.check;
    let start = if fits { cursor.offset } else { 0 };
    let grew = start > 0 && input.metadata()?.len() > start;
    let known = if grew { before(&mut input, start, limits)? } else { Before::default() };
    input.seek(SeekFrom::Start(start))?;
    let mut lines = Lines::new(BufReader::with_capacity(256 << 10, &input), start, limits.line);
    let mut collector = Collector::new(limits, known, part);
    let (mut line, mut at) = (Vec::new(), start);
    loop {
        match lines.next(&mut line)? {
            Line::Whole => collector.line(&line, at),
            Line::TooLong => collector.too_long += 1,
            Line::Unfinished | Line::End => break,
        }
        at = lines.offset();
    }
    let offset = lines.offset();
    collector.hand_on();
    let mut reading = collector.reading();
    reading.cursor = Cursor { offset, check: check_at(&mut input, offset)? };
    reading.restarted = cursor.offset > 0 && !fits;
    reading.read = offset - start;
    Ok(reading)
}

/// Length and hash of the bytes before `offset`; an empty text when the file does not reach there.
fn check_at(input: &mut File, offset: u64) -> Result<String> {
    let length = offset.min(CHECKED);
    input.seek(SeekFrom::Start(offset - length))?;
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 == length && length > 0;
    Ok(if whole { format!("{length}:{}", short_hash(&bytes)) } else { String::new() })
}

/// Gathers messages line by line.
pub(super) struct Collector<'a> {
    limits: Limits,
    part: &'a mut dyn FnMut(&[Message], &Echo),
    is_codex: Option<bool>,
    tree: Tree,
    echo: Echo,
    messages: Vec<Message>,
    held: usize,
    open_calls: HashMap<String, usize>,
    /// Whose words the output of a call that is still awaited will be.
    voices: HashMap<String, Voice>,
    offset: u64,
    node: Node,
    session: Option<String>,
    cwd: Option<String>,
    sub_agent: bool,
    unparsable: u64,
    too_long: u64,
    prompts: u64,
}

impl<'a> Collector<'a> {
    fn new(limits: Limits, known: Before, part: &'a mut dyn FnMut(&[Message], &Echo)) -> Self {
        Self {
            limits,
            part,
            is_codex: None,
            tree: Tree::default(),
            echo: known.echo,
            voices: known.voices,
            messages: Vec::new(),
            held: 0,
            open_calls: HashMap::new(),
            offset: 0,
            node: 0,
            session: None,
            cwd: None,
            sub_agent: false,
            unparsable: 0,
            too_long: 0,
            prompts: 0,
        }
    }

    fn line(&mut self, line: &[u8], offset: u64) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Some(value) = json::parse(line).filter(Value::is_object) else {
            self.unparsable += 1;
            return;
        };
        self.offset = offset;
        let is_codex = *self.is_codex.get_or_insert_with(|| value["payload"].is_object());
        if is_codex {
            self.codex_line(&value)
        } else {
            self.claude_line(&value)
        }
        if self.held > self.limits.part {
            self.hand_on();
        }
    }

    /// Places the current line in the tree; `false` when the same line was there already.
    fn at(&mut self, name: Option<&str>, parent: Option<&str>, role: Role) -> bool {
        match self.tree.add(name, parent, role) {
            Some(node) => self.node = node,
            None => return false,
        }
        true
    }

    fn prompt(&mut self, text: &str, time: Option<&str>) {
        let text = cut(text, self.limits.message).to_string();
        self.push(Content::Prompt(text), time, None);
    }

    /// Blocks of one reply share an id and become one message, unless something came between.
    fn reply(&mut self, text: &str, id: Option<&str>, time: Option<&str>) {
        let text = cut(text, self.limits.message).trim();
        let last =
            self.messages.last_mut().filter(|last| id.is_some() && last.reply.as_deref() == id);
        match last.map(|last| &mut last.content) {
            Some(Content::Reply(earlier)) if earlier.len() < self.limits.message => {
                earlier.push_str("\n\n");
                earlier.push_str(text);
                self.held += text.len();
            }
            _ => self.push(Content::Reply(text.to_string()), time, id),
        }
    }

    fn act(&mut self, act: Act, call: Option<&str>, time: Option<&str>) {
        if let Some(call) = call {
            self.open_calls.insert(call.to_string(), self.messages.len());
            self.voices.insert(call.to_string(), Voice::of(&act));
        }
        self.push(Content::Act(act), time, None);
    }

    /// Remembers what the output of a call says, unless it is the work's own. Of a call that was
    /// not seen nobody knows what it fetched.
    fn hear(&mut self, call: &str, output: &str) {
        match self.voices.get(call) {
            Some(Voice::Own) => {}
            Some(Voice::File) => self.echo.hear(output),
            Some(Voice::Web) | None => self.echo.hear_page(output),
        }
    }

    fn outcome(&mut self, call: &str, is_failed: bool, text: &str) {
        let Some(at) = self.open_calls.remove(call) else { return };
        let message = self.messages.get_mut(at).map(|message| &mut message.content);
        match message {
            Some(Content::Act(Act::Ran { failed, output, .. })) => {
                *failed = Some(is_failed);
                let from = text.len().saturating_sub(OUTPUT);
                *output = text[text.ceil_char_boundary(from)..].to_string();
            }
            Some(Content::Act(Act::Called { failed, output, .. })) => {
                *failed = Some(is_failed);
                *output = ends_of(text, OUTPUT);
            }
            Some(Content::Act(Act::Edited { failed, .. })) => *failed = Some(is_failed),
            _ => {}
        }
    }

    fn push(&mut self, content: Content, time: Option<&str>, reply: Option<&str>) {
        self.held += match &content {
            Content::Prompt(text) | Content::Reply(text) => text.len(),
            Content::Act(_) => OUTPUT,
        };
        self.messages.push(Message {
            content,
            said: time.and_then(|time| crate::clock::parse_time(time).ok()),
            cwd: self.cwd.clone(),
            offset: self.offset,
            node: self.node,
            reply: reply.map(str::to_string),
        });
    }

    /// Takes back the last turns, as Codex does when the user goes back.
    fn roll_back(&mut self, turns: u64) {
        for _ in 0..turns {
            let is_prompt = |message: &Message| matches!(message.content, Content::Prompt(_));
            let Some(at) = self.messages.iter().rposition(is_prompt) else { return };
            self.messages.truncate(at);
        }
    }

    /// Hands on what was gathered, abandoned branches left out.
    fn hand_on(&mut self) {
        let abandoned = self.tree.abandoned();
        let is_kept = |message: &Message| !abandoned[message.node as usize];
        let mut messages = std::mem::take(&mut self.messages);
        messages.retain(is_kept);
        self.prompts += messages.iter().filter(|m| m.actor() == Actor::User).count() as u64;
        self.held = 0;
        self.open_calls.clear();
        if !self.sub_agent && !messages.is_empty() {
            (self.part)(&messages, &self.echo);
        }
    }

    fn reading(self) -> Reading {
        Reading {
            session: self.session,
            cwd: self.cwd,
            sub_agent: self.sub_agent,
            unparsable: self.unparsable,
            too_long: self.too_long,
            prompts: self.prompts,
            ..Reading::default()
        }
    }
}

/// Beginning and end of a long text, with a mark of what is left out between.
pub fn ends_of(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_string();
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests;
