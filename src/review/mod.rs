//! Reading a plan step by step and deciding on each, before any of it is applied.
//!
//! [`Review`] is the whole state and knows no terminal: a key or an answer goes in as a
//! [`Decision`], and in the end comes an [`Outcome`] out. The terminal interface and the questions
//! of `apply --interactive` are two faces of it.

pub mod ask;
pub mod editor;
pub mod screen;
pub mod terminal;

use crate::report::{Report, StepLine};
use crate::targets::{item_line, value_line};
use lifecycle_phases::{ContentHash, EntryId, Plan, PlannedStep, Step};

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is applied.
    Accept,
    /// It is left out.
    Reject,
    /// It is left out, and its entry is protected from ageing.
    Protect,
}

/// What the reader decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// On the step under the cursor; the cursor moves on.
    Choose(Choice),
    /// On every step.
    ChooseAll(Choice),
    /// The text to be written reads like this instead: the line of a route, the text of a merge.
    Rewrite(String),
    /// The cursor moves by that many steps.
    Move(isize),
}

/// A plan under review.
pub struct Review {
    plan: Plan,
    report: Report,
    /// The steps that can be decided on: vectors follow their entries by themselves.
    items: Vec<Item>,
    at: usize,
    rewritten: Vec<usize>,
}

/// One step with what was decided.
pub struct Item {
    /// As the report shows it.
    pub line: StepLine,
    /// What becomes of it.
    pub choice: Choice,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// The plan, with rewritten texts. A rewritten merge has no vector yet.
    pub plan: Plan,
    /// Numbers of the steps whose text was rewritten.
    pub rewritten: Vec<usize>,
    /// Numbers of the steps that are left out.
    pub skip: Vec<usize>,
    /// Entries that are protected.
    pub protect: Vec<EntryId>,
}

impl Review {
    /// A review of `plan`, everything accepted; `report` is the plan's.
    pub fn new(plan: Plan, report: Report) -> Self {
        let decidable = |step: &&StepLine| step.step != "embed";
        let items = report
            .steps
            .iter()
            .filter(decidable)
            .map(|line| Item { line: line.clone(), choice: Choice::Accept })
            .collect();
        Self { plan, report, items, at: 0, rewritten: Vec::new() }
    }

    /// The steps to decide on.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Index of the step under the cursor.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The step under the cursor.
    pub fn current(&self) -> Option<&Item> {
        self.items.get(self.at)
    }

    /// The diff of the file that the current step writes to.
    pub fn diff(&self) -> Option<&str> {
        let file = self.current()?.line.file.as_ref()?;
        let change = self.report.files.iter().find(|change| &change.path == file)?;
        Some(&change.diff)
    }

    /// The text that the current step writes, where it writes one, and whether it may have more
    /// than one line.
    pub fn written_text(&self) -> Option<(&str, bool)> {
        let n = self.current()?.line.n;
        let planned = self.plan.steps.iter().find(|planned| planned.n == n)?;
        match &planned.step {
            Step::Route { route, .. } => Some((&route.line, false)),
            Step::Merge { proven, .. } => Some((&proven.text, true)),
            _ => None,
        }
    }

    /// Whether the current step has an entry that can be protected: one that is stored already.
    pub fn can_protect(&self) -> bool {
        self.current().is_some_and(|item| {
            item.line.entry.is_some() && !matches!(item.line.step, "admit" | "merge")
        })
    }

    /// Takes a decision in.
    pub fn decide(&mut self, decision: Decision) {
        match decision {
            Decision::Choose(Choice::Protect) if !self.can_protect() => {}
            Decision::Choose(choice) => {
                if let Some(item) = self.items.get_mut(self.at) {
                    item.choice = choice;
                }
                self.move_by(1);
            }
            Decision::ChooseAll(choice) => {
                self.items.iter_mut().for_each(|item| item.choice = choice);
            }
            Decision::Rewrite(text) => self.rewrite(&text),
            Decision::Move(by) => self.move_by(by),
        }
    }

    fn move_by(&mut self, by: isize) {
        let last = self.items.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(by).min(last);
    }

    fn rewrite(&mut self, text: &str) {
        let Some(n) = self.current().map(|item| item.line.n) else { return };
        let planned = self.plan.steps.iter_mut().find(|planned| planned.n == n);
        let text = match planned.map(|planned| &mut planned.step) {
            Some(Step::Route { route, .. }) => {
                let line = value_line(text);
                if line.is_empty() {
                    return;
                }
                route.line.clone_from(&line);
                line
            }
            Some(Step::Merge { .. }) if !text.trim().is_empty() => {
                self.rewrite_merge(n, text.trim());
                text.trim().to_string()
            }
            _ => return,
        };
        self.note_rewritten(n, &text);
        if let Some(item) = self.items.get_mut(self.at) {
            item.choice = Choice::Accept;
        }
    }

    /// A merge with other words is still the same entry, but what was computed from its words is
    /// not: its vector is made anew before it is applied, its links by the next tick. A line that
    /// was going to be its text follows it.
    fn rewrite_merge(&mut self, n: usize, text: &str) {
        let merge = self.plan.steps.iter_mut().find(|planned| planned.n == n);
        let Some(PlannedStep { step: Step::Merge { proven, vector, .. }, .. }) = merge else {
            return;
        };
        let (id, old) = (proven.id.clone(), std::mem::replace(&mut proven.text, text.to_string()));
        proven.content_hash = ContentHash::of(text);
        vector.clear();
        let stale: Vec<usize> = self
            .plan
            .steps
            .iter()
            .filter(|planned| is_computed_from(&planned.step, &id))
            .map(|planned| planned.n)
            .collect();
        self.plan.steps.retain(|planned| !stale.contains(&planned.n));
        self.items.retain(|item| !stale.contains(&item.line.n));
        self.at = self.items.iter().position(|item| item.line.n == n).unwrap_or(self.at);
        let mut followed = Vec::new();
        for planned in &mut self.plan.steps {
            let Step::Route { route, .. } = &mut planned.step else { continue };
            let as_written =
                [item_line, value_line].into_iter().find(|form| form(&old) == route.line);
            if let Some(form) = as_written.filter(|_| route.entry == id) {
                route.line = form(text);
                followed.push((planned.n, route.line.clone()));
            }
        }
        for (n, line) in followed {
            self.note_rewritten(n, &line);
        }
    }

    fn note_rewritten(&mut self, n: usize, text: &str) {
        if !self.rewritten.contains(&n) {
            self.rewritten.push(n);
        }
        if let Some(item) = self.items.iter_mut().find(|item| item.line.n == n) {
            item.line.summary = format!("{text} (your words)");
        }
    }

    /// How many steps stand as accepted, of how many.
    pub fn accepted(&self) -> (usize, usize) {
        let count = self.items.iter().filter(|item| item.choice == Choice::Accept).count();
        (count, self.items.len())
    }

    /// What is to be done.
    pub fn outcome(self) -> Outcome {
        let skip = self
            .items
            .iter()
            .filter(|item| item.choice != Choice::Accept)
            .map(|item| item.line.n)
            .collect();
        let mut protect: Vec<EntryId> = self
            .items
            .iter()
            .filter(|item| item.choice == Choice::Protect)
            .filter_map(|item| item.line.entry.clone())
            .collect();
        protect.sort();
        protect.dedup();
        Outcome { plan: self.plan, rewritten: self.rewritten, skip, protect }
    }
}

/// Whether a step holds what was computed from the words of `entry`.
fn is_computed_from(step: &Step, entry: &EntryId) -> bool {
    match step {
        Step::Embed { entry: of, .. } => of == entry,
        Step::Link { link } => link.a == *entry || link.b == *entry,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
