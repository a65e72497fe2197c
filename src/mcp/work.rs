//! What the tools do, each on a store opened for the call.

use super::server::{AddParams, SearchParams, UpdateParams};
use crate::brief;
use crate::capture::project::branch_of;
use crate::clock::{Clock, format_time};
use crate::config::Settings;
use crate::documents::{self, Draft};
use crate::embed::{Embedder, Reranker, Role, embed_one, open_reranker};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use crate::report::relations_json;
use crate::search::{self, Mode, Models, Query, WarmVectors, answer_json, project_name};
use crate::store::{self, Document, Scope, Store, StoredEntry};
use crate::tick;
use lifecycle_phases::{Kind, Phase, PlannedStep, State, Step};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What every tool works with.
pub struct Desk {
    /// Effective settings.
    pub settings: Settings,
    /// The user's folders.
    pub paths: Paths,
    /// The clock.
    pub clock: Clock,
    model: OnceLock<Result<Arc<dyn Embedder>>>,
    vectors: Mutex<Option<Arc<WarmVectors>>>,
    /// None: none is set. An error: it cannot be used.
    reranker: OnceLock<Result<Option<Box<dyn Reranker>>>>,
}

impl Desk {
    /// A desk whose model is not loaded yet.
    pub fn new(settings: Settings, paths: Paths, clock: Clock) -> Self {
        Self {
            settings,
            paths,
            clock,
            model: OnceLock::new(),
            vectors: Mutex::new(None),
            reranker: OnceLock::new(),
        }
    }

    /// Loads the models on a thread of its own.
    pub(super) fn warm_up(self: Arc<Self>) {
        std::thread::spawn(move || {
            let loaded = self.load();
            let _ = self.model.set(loaded);
            let reranker = open_reranker(&self.settings, &self.paths).and_then(|reranker| {
                if let Some(reranker) = &reranker {
                    reranker.score("ready", &["ready"])?;
                }
                Ok(reranker)
            });
            let _ = self.reranker.set(reranker);
        });
    }

    /// Waits until what loads in the background has loaded, within bounds: a process that ends while
    /// the runtime library begins would be ended by a signal.
    pub(super) fn settle(&self) {
        for _ in 0..1000 {
            if self.reranker.get().is_some() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn load(&self) -> Result<Arc<dyn Embedder>> {
        let store = self.reading()?;
        let embedder = tick::serving::open(store.reader(), &self.settings, &self.paths)?;
        embed_one(&*embedder, "ready", Role::Query)?;
        self.vectors(&store, &*embedder)?;
        Ok(embedder)
    }

    /// The vectors in memory, read anew where the store has others now. The lock is not held while
    /// they are searched.
    fn vectors(&self, store: &Store, embedder: &dyn Embedder) -> Result<Arc<WarmVectors>> {
        let descriptor = embedder.descriptor();
        let mut kept = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vectors) = &*kept
            && vectors.is_current(store.reader(), &descriptor.id())?
        {
            return Ok(Arc::clone(vectors));
        }
        let (id, length) = (descriptor.id(), descriptor.dimensions);
        let dimensions = store::dimensions(store.reader(), &id)?.unwrap_or(length);
        let vectors = Arc::new(WarmVectors::load(store.reader(), &id, dimensions)?);
        *kept = Some(Arc::clone(&vectors));
        Ok(vectors)
    }

    /// The reranker, if one is set and loaded, or why there is none.
    fn reranker(&self) -> Result<&dyn Reranker, String> {
        match self.reranker.get() {
            _ if self.settings.search.reranker.is_empty() => Err("none is set".into()),
            Some(Ok(Some(reranker))) => Ok(&**reranker),
            Some(Err(error)) => Err(error.message.clone()),
            _ => Err("it is still loading".into()),
        }
    }

    fn store(&self) -> Result<Store> {
        Store::open(&self.paths, &self.settings)
    }

    /// The store for a tool with a read-only hint: none is made by asking.
    fn reading(&self) -> Result<Store> {
        Store::open_reading(&self.paths, &self.settings)
    }

    /// The model, or why it cannot be used now.
    fn embedder(&self) -> Result<&dyn Embedder, Error> {
        match self.model.get() {
            Some(Ok(embedder)) => Ok(&**embedder),
            Some(Err(error)) => Err(Error::new(error.code, error.message.clone())),
            None => Err(Error::new(ExitCode::Missing, "the model is still loading")),
        }
    }
}

pub(super) fn search(desk: &Desk, params: SearchParams) -> Result<Value> {
    let scope = Scope {
        project: params.project.as_deref().map(project_name),
        kind: parse(params.kind.as_deref(), Kind::parse, "kind")?,
        state: parse(params.state.as_deref(), State::parse, "state")?,
        tags: params.tags,
        all: params.all,
    };
    let k = params.k.unwrap_or(desk.settings.search.results);
    let query = Query { text: params.query, scope, k, mode: Mode::Hybrid };
    let embedder = desk.embedder();
    let embedder = embedder.as_ref().map(|embedder| *embedder);
    let store = desk.reading()?.for_searching()?;
    let warm = embedder.ok().map(|model| desk.vectors(&store, model)).transpose()?;
    let settings = &desk.settings.search;
    let reranker = desk.reranker();
    let models =
        Models { embedder, warm: warm.as_deref(), reranker: reranker.as_ref().ok().copied() };
    let mut answer = search::search(store.reader(), &models, settings, &query)?;
    if let (false, Err(why)) = (settings.reranker.is_empty(), &reranker) {
        answer.notes.push(format!("not reranked: {why}"));
    }
    Ok(answer_json(&answer, false))
}

fn parse<T>(word: Option<&str>, parse: fn(&str) -> Option<T>, what: &str) -> Result<Option<T>> {
    word.map(|word| parse(word).ok_or_else(|| Error::input(format!("`{word}` is not a {what}"))))
        .transpose()
}

pub(super) fn get(desk: &Desk, id: &str) -> Result<Value> {
    let store = desk.reading()?;
    match store::resolve(store.reader(), id) {
        Ok(stored) => Ok(whole_entry(&store, &stored)?),
        // A hit in a document is named `document#piece`.
        Err(_) => {
            let id = id.split('#').next().unwrap_or(id);
            let document = store::document(store.reader(), id)?;
            let mut value = document_json(&document);
            value["text"] = json!(document.text);
            Ok(value)
        }
    }
}

fn whole_entry(store: &Store, stored: &StoredEntry) -> Result<Value> {
    let relations = store::relations(store.reader(), stored)?;
    Ok(relations_json(stored, &relations))
}

pub(super) fn why(desk: &Desk, id: &str) -> Result<Value> {
    let store = desk.reading()?;
    let stored = store::resolve(store.reader(), id)?;
    whole_entry(&store, &stored)
}

fn document_json(document: &Document) -> Value {
    json!({
        "type": "document", "id": document.id, "title": document.title, "source": document.source,
        "origin": document.origin, "project": document.project, "tags": document.tags,
        "characters": document.text.chars().count(),
        "created": format_time(document.created), "updated": format_time(document.updated),
    })
}

pub(super) fn list_docs(desk: &Desk, project: Option<String>) -> Result<Value> {
    let store = desk.reading()?;
    let project = project.as_deref().map(project_name);
    let documents = store::documents(store.reader(), project.as_deref())?;
    Ok(json!({"documents": documents.iter().map(document_json).collect::<Vec<_>>()}))
}

pub(super) fn projects(desk: &Desk) -> Result<Value> {
    let store = desk.reading()?;
    let mut statement = store.reader().prepare(
        "SELECT project, sum(entries), sum(documents) FROM (
             SELECT project, 1 AS entries, 0 AS documents FROM entry
             WHERE state IN ('buffered', 'proven', 'routed')
             UNION ALL SELECT project, 0, 1 FROM document)
         GROUP BY project ORDER BY project",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(json!({
            "project": row.get::<_, Option<String>>(0)?,
            "entries": row.get::<_, i64>(1)?,
            "documents": row.get::<_, i64>(2)?,
        }))
    })?;
    Ok(json!({"projects": rows.collect::<std::result::Result<Vec<_>, _>>()?}))
}

pub(super) fn status(desk: &Desk) -> Result<Value> {
    let store = desk.reading()?;
    let mut value = serde_json::to_value(store::overview(store.reader(), desk.clock.now())?)?;
    value["model"] = match desk.embedder() {
        Ok(embedder) => json!({"descriptor": embedder.descriptor().id(), "ready": true}),
        Err(error) => json!({"ready": false, "reason": error.message}),
    };
    value["reranker"] = match desk.reranker() {
        Ok(reranker) => json!({"name": reranker.descriptor().name, "ready": true}),
        Err(why) => json!({"ready": false, "reason": why}),
    };
    Ok(value)
}

/// The same text as the hook gives at the start of a session.
pub(super) fn brief(desk: &Desk, project: Option<String>) -> Result<Value> {
    let store = desk.reading()?;
    // As the command does: an assistant starts the server in the project's folder.
    let here = || Some(std::env::current_dir().ok()?.to_string_lossy().into_owned());
    let project = project.or_else(here);
    let request = brief::Request {
        branch: project.as_deref().and_then(branch_of),
        project: project.as_deref().map(project_name),
        tokens: desk.settings.brief.tokens,
        ..brief::Request::default()
    };
    let briefing = brief::compose(store.reader(), &request, desk.clock.now())?;
    Ok(json!({
        "text": briefing.text,
        "entries": briefing.facts.len(),
        "left_out": briefing.left_out,
    }))
}

pub(super) fn add_text(desk: &Desk, params: AddParams) -> Result<Value> {
    let draft = documents::from_text(&params.content, params.name.as_deref());
    add(desk, draft, params)
}

pub(super) fn add_url(desk: &Desk, params: AddParams) -> Result<Value> {
    let draft = documents::from_url(&params.content, &desk.settings.documents)?;
    add(desk, draft, params)
}

pub(super) fn add_file(desk: &Desk, params: AddParams) -> Result<Value> {
    let path = Path::new(&params.content);
    let draft = documents::from_file(path, &desk.paths.home, &desk.settings.documents)?;
    add(desk, draft, params)
}

fn add(desk: &Desk, draft: Draft, params: AddParams) -> Result<Value> {
    let draft = Draft {
        title: params.title.filter(|title| !title.is_empty()).unwrap_or(draft.title),
        project: params.project.as_deref().map(project_name),
        tags: params.tags,
        ..draft
    };
    store_draft(desk, draft)
}

fn store_draft(desk: &Desk, draft: Draft) -> Result<Value> {
    let mut store = desk.store()?;
    let added = documents::add(&mut store, draft, desk.clock.now())?;
    let mut value = serde_json::to_value(&added)?;
    let embedded = desk.embedder().and_then(|model| documents::embed_missing(&mut store, model));
    if let Err(error) = embedded {
        value["note"] = json!(format!("found by words until it is embedded: {}", error.message));
    }
    Ok(value)
}

pub(super) fn update(desk: &Desk, params: UpdateParams) -> Result<Value> {
    let document = store::document(desk.reading()?.reader(), &params.id)?;
    let draft = Draft {
        source: document.source,
        origin: origin(&document.origin),
        text: params.text.unwrap_or(document.text),
        title: params.title.unwrap_or(document.title),
        project: document.project,
        tags: params.tags.unwrap_or(document.tags),
    };
    store_draft(desk, draft)
}

fn origin(word: &str) -> &'static str {
    match word {
        "url" => "url",
        "file" => "file",
        _ => "text",
    }
}

pub(super) fn delete(desk: &Desk, id: &str) -> Result<Value> {
    let mut store = desk.store()?;
    let Ok(stored) = store::resolve(store.reader(), id) else {
        let document = store::document(store.reader(), id)?;
        store.write(|tx| store::delete_document(tx, &document.id))?;
        return Ok(json!({"deleted": document.id, "type": "document"}));
    };
    let entry = &stored.entry;
    if entry.state.is_active() {
        let step =
            Step::SetState { entry: entry.id.clone(), from: entry.state, to: State::Expired };
        let steps = vec![PlannedStep::new(Phase::Age, step, "deleted by an assistant")];
        drop(store);
        tick::by_hand(&desk.settings, &desk.paths, desk.clock, "mcp", steps)?;
    }
    Ok(
        json!({"expired": entry.id, "type": "entry", "restore": format!("lifecycle restore {}", entry.id)}),
    )
}
