//! Reading a plan step by step and deciding on each, before any of it is applied.
//!
//! [`Review`] is the whole state and knows no terminal: a key or an answer goes in as a
//! [`Decision`], and in the end comes an [`Outcome`] out. The terminal interface and the questions
//! of `apply --interactive` are two faces of it.

pub mod ask;
pub mod screen;
pub mod terminal;

use crate::report::{Report, StepLine};
use lifecycle_phases::{EntryId, Plan, Step};

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
    /// The line to be written reads like this instead (routes only).
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
    /// The plan, with rewritten lines.
    pub plan: Plan,
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
        Self { plan, report, items, at: 0 }
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

    /// The line that the current step writes, where it writes one.
    pub fn written_line(&self) -> Option<&str> {
        let n = self.current()?.line.n;
        let planned = self.plan.steps.iter().find(|planned| planned.n == n)?;
        match &planned.step {
            Step::Route { route, .. } => Some(&route.line),
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
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(n) = self.current().map(|item| item.line.n).filter(|_| !line.is_empty()) else {
            return;
        };
        let planned = self.plan.steps.iter_mut().find(|planned| planned.n == n);
        if let Some(Step::Route { route, .. }) = planned.map(|planned| &mut planned.step) {
            route.line.clone_from(&line);
            if let Some(item) = self.items.get_mut(self.at) {
                item.line.summary = format!("{} (your words)", line);
                item.choice = Choice::Accept;
            }
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
        Outcome { plan: self.plan, skip, protect }
    }
}

#[cfg(test)]
mod tests;
