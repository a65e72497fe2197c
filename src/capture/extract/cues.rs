//! How much a sentence states, by the phrases in `config/cues.toml`.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const CUES: &str = include_str!("../../../config/cues.toml");

/// Points that a sentence must reach to be kept.
pub const ENOUGH: i32 = 2;

#[derive(Deserialize)]
struct Lists {
    user: UserLists,
    assistant: AssistantLists,
    common: CommonLists,
}

#[derive(Deserialize)]
struct UserLists {
    standing: Vec<String>,
    strong: Vec<String>,
    weak: Vec<String>,
    complaint: Vec<String>,
}

#[derive(Deserialize)]
struct AssistantLists {
    strong: Vec<String>,
    complaint: Vec<String>,
    talk: Vec<String>,
    progress: Vec<String>,
}

#[derive(Deserialize)]
struct CommonLists {
    hedge: Vec<String>,
    personal: Vec<String>,
    vague: Vec<String>,
    object: Vec<String>,
    subject: Vec<String>,
    verb: Vec<String>,
    report: Vec<String>,
    polite: Vec<String>,
    ask_to: Vec<String>,
    moment: Vec<String>,
    command: Vec<String>,
    task: Vec<String>,
    lead: Vec<String>,
    chatter: Vec<String>,
    confirm: Vec<String>,
    ask: Vec<String>,
}

/// What a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// States something worth keeping.
    Knowledge,
    /// Asks for something to be done or told.
    Task,
    /// Says nothing.
    Chatter,
    /// Anything else: may be the context of what follows.
    Plain,
}

struct Speaker {
    standing: Option<Regex>,
    strong: Regex,
    weak: Regex,
    complaint: Regex,
}

/// The compiled phrases.
pub struct Cues {
    user: Speaker,
    assistant: Speaker,
    talk: Regex,
    progress: Regex,
    hedge: Regex,
    statement: Statement,
    report: Regex,
    polite: Regex,
    request: Request,
    task: Regex,
    chatter: Regex,
    confirm: Regex,
    ask: Regex,
}

impl Cues {
    /// Compiles the phrases that are built in.
    pub fn new() -> Self {
        let lists: Lists = toml_edit::de::from_str(CUES).expect("config/cues.toml has its lists");
        let Lists { user, assistant, common } = lists;
        let lead = alternatives(&common.lead);
        Self {
            user: Speaker {
                standing: Some(anywhere(&user.standing)),
                strong: anywhere(&user.strong),
                weak: anywhere(&user.weak),
                complaint: anywhere(&user.complaint),
            },
            assistant: Speaker {
                standing: None,
                strong: anywhere(&assistant.strong),
                weak: anywhere(&user.weak),
                complaint: anywhere(&assistant.complaint),
            },
            talk: at_start(&assistant.talk),
            progress: anywhere(&assistant.progress),
            hedge: anywhere(&common.hedge),
            statement: Statement::new(&common),
            report: anywhere(&common.report),
            polite: anywhere(&common.polite),
            request: Request::new(&common, &lead),
            task: compile(&format!(
                r"^\W*(?:(?:{lead})\b\W*)*(?:{})\b",
                alternatives(&common.task)
            )),
            chatter: compile(&format!(r"^\W*(?:(?:{})\b\W*)+$", alternatives(&common.chatter))),
            confirm: at_start(&common.confirm),
            ask: compile(&format!(r"^\W*(?:(?:{lead})\b\W*)*(?:{})\b", alternatives(&common.ask))),
        }
    }

    /// What the user meant by a sentence.
    pub fn of_user(&self, sentence: &str) -> Sort {
        let points = self.points(&self.user, sentence, 1);
        // "Fix it: an IMO number is unique" asks for a task and states its reason.
        let after = sentence.split_once(": ").map(|(_, rest)| self.points(&self.user, rest, 1));
        let after = after.unwrap_or(i32::MIN);
        let sort = self.sort(sentence, points.max(after));
        let is_request = sort == Sort::Knowledge && after < ENOUGH && self.requests(sentence);
        if is_request { Sort::Task } else { sort }
    }

    /// Whether a sentence of the user only asks for something, here and now: no rule, whatever words
    /// of rules it holds. A reason that is a statement by itself makes it worth keeping.
    fn requests(&self, sentence: &str) -> bool {
        let stands =
            self.user.standing.as_ref().is_some_and(|standing| standing.is_match(sentence));
        if stands {
            return false;
        }
        let asks = self.polite.is_match(sentence) || self.request.asks(sentence);
        let is_of_moment = self.request.moment.is_match(sentence);
        let is_task = self.task.is_match(sentence) || self.request.asks_to.is_match(sentence);
        let forbids = FORBIDS.is_match(sentence);
        (asks && is_of_moment) || (is_task && !forbids && !self.gives_reason(sentence))
    }

    /// Whether what follows a "because" is a statement worth keeping by itself.
    fn gives_reason(&self, sentence: &str) -> bool {
        let reason = BECAUSE.find(sentence).map(|found| &sentence[found.end()..]);
        reason.is_some_and(|reason| {
            self.states(reason) && self.points(&self.user, reason, 1) > ENOUGH
        })
    }

    /// What the assistant meant by a sentence of its last message.
    pub fn of_assistant(&self, sentence: &str) -> Sort {
        if self.talk.is_match(sentence) {
            return Sort::Chatter;
        }
        self.sort(sentence, self.reply_points(sentence) - 1)
    }

    /// Whether a sentence of a reply is a statement that may be worth keeping where nothing of the
    /// reply is plainly so.
    pub fn may_conclude(&self, sentence: &str) -> bool {
        !self.talk.is_match(sentence)
            && !is_question(sentence)
            && self.states(sentence)
            && self.reply_points(sentence) >= ENOUGH
    }

    /// Points of a sentence of a reply. Assistants state much and doubt little: it takes one more
    /// than with a user, and what they say of their work does not count.
    fn reply_points(&self, sentence: &str) -> i32 {
        let progress = if self.progress.is_match(sentence) { 3 } else { 0 };
        self.points(&self.assistant, sentence, 2) - progress
    }

    /// Whether a prompt begins by confirming the answer before it.
    pub fn confirms(&self, sentence: &str) -> bool {
        self.confirm.is_match(sentence) && !is_question(sentence)
    }

    /// Whether a sentence asks how something is, in words that make sense beside the answer.
    pub fn asks(&self, sentence: &str) -> bool {
        self.ask.is_match(sentence) && is_question(sentence)
    }

    fn points(&self, speaker: &Speaker, sentence: &str, hedge: i32) -> i32 {
        let has = |regex: &Regex| regex.is_match(sentence);
        let weigh = |is_there: bool, weight: i32| if is_there { weight } else { 0 };
        let is_user = speaker.standing.is_some();
        let stands = speaker.standing.as_ref().is_some_and(has);
        let strong = has(&speaker.strong);
        // "It must be called with a key now" is a rule, "The page is blank now" a report.
        let reports = is_user && !stands && !strong && has(&self.report);
        weigh(stands, 4)
            + weigh(strong, 2)
            + weak_words(&speaker.weak, sentence).min(2) as i32
            + weigh(self.states(sentence), 1)
            - weigh(has(&speaker.complaint), 4)
            - weigh(has(&self.hedge), hedge)
            - weigh(reports, 1)
            - weigh(has(&self.polite), 1)
            - weigh(has(&self.task), 1)
    }

    /// Whether a sentence has the form of a statement about the project.
    fn states(&self, sentence: &str) -> bool {
        self.statement.fits(sentence) && !self.task.is_match(sentence)
    }

    fn sort(&self, sentence: &str, points: i32) -> Sort {
        let is_task = self.task.is_match(sentence) || self.polite.is_match(sentence);
        if self.chatter.is_match(sentence) {
            Sort::Chatter
        } else if is_question(sentence) || (points < ENOUGH && is_task) {
            Sort::Task
        } else if points >= ENOUGH {
            Sort::Knowledge
        } else {
            Sort::Plain
        }
    }
}

/// What begins a reason.
static BECAUSE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"\b(?:because|since|as otherwise|weil|da|denn|parce qu[e']|car)\b"));

/// "Do not …" forbids, it asks for nothing.
static FORBIDS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"^\W*(?:(?:please|bitte)\W+)?(?:do not|don't|avoid|never|no|kein\w*|nicht|ne|pas)\b")
});

/// The form of a request.
struct Request {
    asks_to: Regex,
    commands: Regex,
    moment: Regex,
}

impl Request {
    fn new(lists: &CommonLists, lead: &str) -> Self {
        let moment = alternatives(&lists.moment);
        let verbs = [alternatives(&lists.task), alternatives(&lists.command)].join("|");
        let before = format!(r"^\W*(?:(?:{lead}|{moment})\b\W*)*");
        Self {
            asks_to: compile(&format!(r"{before}(?:{})\b", alternatives(&lists.ask_to))),
            commands: compile(&format!(r"{before}(?:{verbs})\b")),
            moment: anywhere(&lists.moment),
        }
    }

    fn asks(&self, sentence: &str) -> bool {
        self.asks_to.is_match(sentence) || self.commands.is_match(sentence)
    }
}

/// The form of a statement: about something, not about the speakers, and no command.
struct Statement {
    personal: Regex,
    vague: Regex,
    command: Regex,
    subject: Regex,
    verb: Regex,
}

impl Statement {
    const LEAST_WORDS: usize = 4;

    fn new(lists: &CommonLists) -> Self {
        Self {
            personal: anywhere(&lists.personal),
            vague: at_start(&lists.vague),
            command: compile(&format!(r"^\W*[\w']+[ -](?:{})\b", alternatives(&lists.object))),
            subject: at_start(&lists.subject),
            verb: anywhere(&lists.verb),
        }
    }

    fn fits(&self, sentence: &str) -> bool {
        let rest = sentence.trim_start().split_once(' ').map_or("", |(_, rest)| rest);
        let is_command = self.command.is_match(sentence) && !self.subject.is_match(sentence);
        sentence.split_whitespace().count() >= Self::LEAST_WORDS
            && !is_command
            && !self.vague.is_match(sentence)
            && !self.personal.is_match(sentence)
            && self.verb.is_match(rest)
    }
}

impl Default for Cues {
    fn default() -> Self {
        Self::new()
    }
}

/// How many different weak words a sentence holds; all numbers are one, and all names.
fn weak_words(weak: &Regex, sentence: &str) -> usize {
    let class = |word: &str| {
        let is_number = word.starts_with(|ch: char| ch.is_ascii_digit());
        let is_name = word.contains(['_', '/', '.', ':'])
            || word.chars().skip(1).any(|ch| ch.is_uppercase() || ch.is_ascii_digit());
        match (is_number, is_name) {
            (true, _) => "a number".to_string(),
            (_, true) => "a name".to_string(),
            _ => word.to_lowercase(),
        }
    };
    let words: BTreeSet<String> = weak.find_iter(sentence).map(|m| class(m.as_str())).collect();
    words.len()
}

/// Whether a sentence ends in a question mark of any script.
pub fn is_question(sentence: &str) -> bool {
    let ends = |ch: char| matches!(ch, '?' | '\u{ff1f}' | '\u{61f}' | '\u{37e}');
    let text = sentence.trim_end_matches(|ch: char| !ch.is_alphanumeric() && !ends(ch));
    text.ends_with(ends)
}

fn alternatives(phrases: &[String]) -> String {
    phrases.join("|")
}

fn anywhere(phrases: &[String]) -> Regex {
    compile(&format!(r"\b(?:{})(?:\b|$)", alternatives(phrases)))
}

fn at_start(phrases: &[String]) -> Regex {
    compile(&format!(r"^\W*(?:{})\b", alternatives(phrases)))
}

fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(64 << 20)
        .build()
        .expect("config/cues.toml holds valid expressions")
}
