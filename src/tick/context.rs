//! What the glue of a phase works with, and the one door through which steps are performed.

use super::Similarities;
use super::doors::{Door, Doors};
use super::notes::{Level, Note};
use crate::clock::Clock;
use crate::config::Settings;
use crate::embed::Embedder;
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use crate::store::{self, Store};
use lifecycle_phases::{Phase, Plan, PlannedReceipt, PlannedStep, Receipt, Step};
use rusqlite::Transaction;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Whether a run writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Steps change the store and files.
    Live,
    /// Steps change a scratch copy of the store and an overlay of the files.
    DryRun,
}

/// The state of a tick under way.
pub struct Context<'a> {
    /// The store of a live run, the scratch copy of a dry one. Read through `store.reader()`; steps
    /// go through [`Context::perform`].
    pub store: Store,
    /// Effective settings.
    pub settings: &'a Settings,
    /// The user's folders.
    pub paths: &'a Paths,
    /// The clock.
    pub clock: Clock,
    /// Live or dry.
    pub mode: Mode,
    /// What started the run: `run`, `apply`, `undo`, `hook`, `schedule`.
    pub trigger: &'static str,
    /// Phases of this run.
    pub phases: Vec<Phase>,
    /// Hash of the plan file that is applied, if one is.
    pub plan: Option<String>,
    /// The tick that is taken back, if one is.
    pub undoes: Option<i64>,
    /// Contents of files as a dry run would leave them; `None`: removed.
    pub overlay: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// Contents of the same files before.
    pub originals: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// Files with a write of this run of which is not known whether it lasts.
    pub unsettled: BTreeSet<PathBuf>,
    /// What did not happen, and why.
    pub notes: Vec<Note>,
    /// How near the new entries are to what was there.
    pub nearest: Similarities,
    /// Every step performed so far, in order: the plan.
    pub performed: Vec<PlannedStep>,
    /// What was noted down with them.
    pub receipts: Vec<PlannedReceipt>,
    /// Where secrets are taken out.
    pub doors: Doors,
    /// Opened at the first need; loads its model at the first text.
    embedder: OnceCell<Arc<dyn Embedder>>,
    /// Number of the next step that has none yet.
    next_n: usize,
    /// The exit code of the first failure that has one of its own.
    pub failure: Option<ExitCode>,
    /// Ticks whose undo had been killed and was carried through at the start of this run.
    pub carried: Vec<i64>,
    /// Whether mass changes go through without a question: they were asked for by hand.
    pub unbraked: bool,
    /// Lines of ours that this run replaced or took out.
    pub rewritten: usize,
    /// Number of the tick, once a first step or model call made it necessary.
    pub tick: Option<i64>,
    /// The user's own store in a dry run, once a model is asked: a request costs quota whoever
    /// makes it, so its row is written there.
    account: Option<Store>,
}

impl<'a> Context<'a> {
    /// A context over `store`; for a dry run the caller passes a scratch copy.
    pub fn new(
        store: Store,
        settings: &'a Settings,
        paths: &'a Paths,
        clock: Clock,
        mode: Mode,
        trigger: &'static str,
    ) -> Self {
        Self {
            store,
            settings,
            paths,
            clock,
            mode,
            trigger,
            phases: Phase::ALL.to_vec(),
            plan: None,
            undoes: None,
            overlay: BTreeMap::new(),
            originals: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            notes: Vec::new(),
            nearest: Similarities::default(),
            performed: Vec::new(),
            receipts: Vec::new(),
            doors: Doors::new(&settings.redact),
            embedder: OnceCell::new(),
            next_n: 1,
            failure: None,
            carried: Vec::new(),
            unbraked: true,
            rewritten: 0,
            tick: None,
            account: None,
        }
    }

    /// The run's time, milliseconds UTC.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// The embedder that serves this run.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        if let Some(embedder) = self.embedder.get() {
            return Ok(Arc::clone(embedder));
        }
        let embedder: Arc<dyn Embedder> = super::serving::open_with(
            self.store.reader(),
            self.settings,
            self.paths,
            self.doors.clone(),
        )?;
        Ok(Arc::clone(self.embedder.get_or_init(|| embedder)))
    }

    /// The store that keeps the account of model requests; the user's own also in a dry run. `None`
    /// where a dry run has no store yet; with `make` it is made.
    pub fn account(&mut self, make: bool) -> Result<Option<&mut Store>> {
        if self.mode == Mode::Live {
            return Ok(Some(&mut self.store));
        }
        if self.account.is_none() && (make || self.paths.database().exists()) {
            self.account = Some(Store::open(self.paths, self.settings)?);
        }
        Ok(self.account.as_mut())
    }

    /// Adds a note.
    pub fn note(&mut self, level: Level, phase: Phase, text: impl Into<String>) {
        let note = Note { level, phase, text: text.into() };
        // A phase that runs twice in a tick says a thing once.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes that a phase failed, so that the others can go on. A failure of the store itself ends
    /// the run instead.
    pub fn fail(&mut self, phase: Phase, error: Error) -> Result<()> {
        if matches!(error.code, ExitCode::Store | ExitCode::Busy) {
            return Err(error);
        }
        let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        self.note(Level::Failed, phase, format!("{}{hint}", error.message));
        self.failure.get_or_insert(error.code);
        Ok(())
    }

    /// The number of this tick. The row is made at the first need, so that a run with nothing to
    /// do leaves the database byte for byte as it was.
    pub fn tick_id(&mut self) -> Result<i64> {
        if let Some(id) = self.tick {
            return Ok(id);
        }
        let (now, trigger, phases) = (self.now(), self.trigger, self.phases.clone());
        let (plan, undoes) = (self.plan.clone(), self.undoes);
        let id = self
            .store
            .write(|tx| store::begin_tick(tx, now, trigger, &phases, plan.as_deref(), undoes))?;
        self.tick = Some(id);
        Ok(id)
    }

    /// The plan of everything performed since the store had the fingerprint `base`.
    pub fn plan(&self, base: String) -> Plan {
        Plan {
            version: Plan::VERSION,
            now: self.now(),
            base,
            steps: self.performed.clone(),
            receipts: self.receipts.clone(),
        }
    }

    /// Performs `steps` in order: checks what each requires, applies it, journals it. Steps on the
    /// store go in one transaction. A step whose requirement does not hold is refused and noted;
    /// the others go on.
    pub fn perform(&mut self, steps: Vec<PlannedStep>) -> Result<()> {
        self.perform_with(steps, |_| Ok(()))
    }

    /// As [`Context::perform`], with `receipts` in the same transaction. They become part of the
    /// plan, so that `apply` notes the same.
    pub fn perform_noting(
        &mut self,
        steps: Vec<PlannedStep>,
        receipts: Vec<Receipt>,
    ) -> Result<()> {
        let before = self.performed.len();
        let now = self.now();
        self.perform_with(steps, |tx| {
            receipts.iter().try_for_each(|receipt| store::put_receipt(tx, receipt, now))
        })?;
        let done = &self.performed[before..];
        let planned: Vec<PlannedReceipt> =
            receipts.into_iter().map(|receipt| needing(receipt, done)).collect();
        self.receipts.extend(planned);
        Ok(())
    }

    /// Says of each door what was taken out there.
    pub fn note_redactions(&mut self) {
        for (door, counts) in self.doors.take() {
            let phase = match door {
                Door::Store => Phase::Buffer,
                Door::Embedding => Phase::Connect,
                Door::Model => Phase::Consolidate,
                Door::File => Phase::Route,
            };
            self.note(Level::Info, phase, format!("redacted before {door}: {counts}"));
        }
    }

    /// As [`Context::perform`], with `extra` in the same transaction after the steps on the store
    /// (a cursor that must never be ahead of the entries it stands for). `extra` runs even where
    /// `steps` is empty.
    pub fn perform_with(
        &mut self,
        mut steps: Vec<PlannedStep>,
        extra: impl FnOnce(&Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        let tick = if steps.is_empty() { None } else { Some(self.tick_id()?) };
        self.number(&mut steps);
        let now = self.now();
        let refused = self.store.write(|tx| {
            let mut refused = Vec::new();
            if let Some(tick) = tick {
                for step in &steps {
                    perform_one(tx, tick, step, now, &mut refused)?;
                }
            }
            extra(tx)?;
            Ok(refused)
        })?;
        for (n, phase, why) in &refused {
            self.note(Level::Failed, *phase, format!("step {n} was refused: {why}"));
        }
        steps.retain(|step| !refused.iter().any(|(n, ..)| *n == step.n));
        self.performed.extend(steps);
        Ok(())
    }
}

impl Context<'_> {
    /// Goes on in tick `id`, which was killed; its numbers up to `last` are taken.
    pub(super) fn reopen(&mut self, id: i64, last: usize) {
        self.tick = Some(id);
        self.next_n = last + 1;
    }

    /// Leaves a reopened tick, so that this run gets one of its own.
    pub(super) fn leave(&mut self) {
        (self.tick, self.undoes, self.next_n) = (None, None, 1);
        self.performed.clear();
    }

    /// Gives each step that has no number yet the next one.
    pub(super) fn number(&mut self, steps: &mut [PlannedStep]) {
        for step in steps {
            if step.n == 0 {
                step.n = self.next_n;
            }
            self.next_n = self.next_n.max(step.n) + 1;
        }
    }
}

/// A receipt with the steps that it accounts for: sightings hold where the steps on their own entry
/// were done, everything else where all were.
fn needing(receipt: Receipt, done: &[PlannedStep]) -> PlannedReceipt {
    let concerns = |step: &&PlannedStep| match &receipt {
        Receipt::Sightings { sightings } => {
            sightings.iter().any(|sighting| step.step.entry() == Some(&sighting.entry))
        }
        _ => true,
    };
    let steps = done.iter().filter(concerns).map(|step| step.n).collect();
    PlannedReceipt { steps, receipt }
}

fn perform_one(
    tx: &Transaction<'_>,
    tick: i64,
    step: &PlannedStep,
    now: i64,
    refused: &mut Vec<(usize, Phase, String)>,
) -> Result<()> {
    debug_assert!(!matches!(step.step, Step::Route { .. }), "routes go through the file writer");
    for requirement in &step.requirements {
        if let Some(why) = store::check(tx, requirement)? {
            store::record_step(tx, tick, step, "refused", &why)?;
            refused.push((step.n, step.phase, why));
            return Ok(());
        }
    }
    // A step that turns out to be impossible half way leaves nothing behind.
    tx.execute_batch("SAVEPOINT step")?;
    match store::apply(tx, &step.step, now, &step.reason) {
        Ok(()) => store::record_step(tx, tick, step, "done", "")?,
        Err(error) if error.code == ExitCode::Refused => {
            tx.execute_batch("ROLLBACK TO step")?;
            store::record_step(tx, tick, step, "refused", &error.message)?;
            refused.push((step.n, step.phase, error.message));
        }
        Err(error) => return Err(error),
    }
    tx.execute_batch("RELEASE step")?;
    Ok(())
}
