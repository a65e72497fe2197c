//! `lifecycle model`: which embedding models and rerankers there are, getting one, choosing one, measuring its
//! scale.

mod calibrate;

use super::{Session, print_json, print_text};
use crate::embed::install::{Installer, make_ready};
use crate::embed::{Catalog, Descriptor, ModelKind, OnnxReranker, Origin, Reranker, runtime};
use crate::error::{Error, ExitCode, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Options of `model`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle model list                             what there is, * is in use
  lifecycle model pull multilingual-e5-small       fetch one, checked
  lifecycle model use multilingual-e5-small        choose it
  lifecycle model calibrate --dry-run              measure the scale, keep it")]
pub struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// List the embedding models and rerankers
    List,
    /// Fetch a model's files, check their sums, and embed its golden texts
    Pull {
        /// Name of the model
        name: String,
        /// Take the files from this folder and fetch nothing
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
    /// Choose the model; entries are embedded again in the background of ticks. A reranker is
    /// chosen beside it and orders what search finds
    Use {
        /// Name of the model
        name: String,
    },
    /// Measure the model's scale on your own entries
    Calibrate(calibrate::CalibrateArgs),
}

/// Runs the subcommand.
pub fn run(session: &Session, args: &ModelArgs) -> Result<ExitCode> {
    match &args.command {
        ModelCommand::List => list(session)?,
        ModelCommand::Pull { name, from } => pull(session, name, from.as_deref())?,
        ModelCommand::Use { name } => choose(session, name)?,
        ModelCommand::Calibrate(args) => calibrate::run(session, args)?,
    }
    Ok(ExitCode::Success)
}

fn list(session: &Session) -> Result<()> {
    let catalog = Catalog::load(&session.paths)?;
    let models = session.paths.models();
    if session.global.json {
        let rows: Vec<_> = catalog.iter().map(|known| row(session, known, &models)).collect();
        return print_json(&rows);
    }
    for known in catalog.iter() {
        let mark = if is_chosen(session, known) { '*' } else { ' ' };
        let state = if known.is_installed(&models) { "installed" } else { "not installed" };
        let makes = match known.kind {
            ModelKind::Embedder => format!("{:>5} numbers", known.dimensions),
            ModelKind::Reranker => format!("{:>13}", "reranker"),
        };
        print_text(&format!(
            "{mark} {:24} {state:14} {makes}  {:>6.0} MB  {}\n    {}\n",
            known.name,
            megabytes(known),
            known.licence,
            known.about
        ));
    }
    Ok(())
}

fn row(session: &Session, known: &Descriptor, models: &Path) -> serde_json::Value {
    json!({
        "name": known.name, "kind": known.kind.as_str(), "id": known.id(), "about": known.about, "licence": known.licence,
        "dimensions": known.dimensions, "max_tokens": known.max_tokens,
        "bytes": known.files.iter().map(|file| file.bytes).sum::<u64>(),
        "chosen": is_chosen(session, known), "installed": known.is_installed(models),
        "calibration": known.calibration,
    })
}

fn megabytes(known: &Descriptor) -> f64 {
    known.files.iter().map(|file| file.bytes).sum::<u64>() as f64 / 1e6
}

fn is_chosen(session: &Session, known: &Descriptor) -> bool {
    let embed = &session.settings.embed;
    if known.kind == ModelKind::Reranker {
        return known.name == session.settings.search.reranker;
    }
    let name = if embed.url.is_empty() { &embed.model } else { &embed.url_model };
    known.name == *name
}

fn pull(session: &Session, name: &str, from: Option<&Path>) -> Result<()> {
    let catalog = Catalog::load(&session.paths)?;
    let descriptor = catalog.get(name)?;
    let models = session.paths.models();
    let say = |line: &str| print_text(&format!("{line}\n"));
    let installer = Installer {
        models: models.clone(),
        from: from.map(Into::into),
        hub: session.settings.embed.hub.clone(),
        say: &say,
    };
    let did = installer.model(descriptor)?;
    let checked = match descriptor.kind {
        ModelKind::Embedder => format!("{} golden pairs agree", check(session, descriptor)?),
        ModelKind::Reranker => try_out(session, descriptor)?,
    };
    let state = if did { "installed" } else { "was installed, nothing to do" };
    print_text(&format!("{name}: {state} ({checked})\n"));
    Ok(())
}

/// Embeds the golden pairs. Without the runtime library the files stay, with a hint; files that fail
/// stay too, since they are what was pinned, but `use` refuses them.
fn check(session: &Session, descriptor: &Descriptor) -> Result<usize> {
    let models = session.paths.models();
    runtime::find_library(&session.settings.embed, &models)?;
    make_ready(descriptor, &session.settings.embed, &models)
}

/// Runs a reranker once, so that a file that does not load shows now.
fn try_out(session: &Session, descriptor: &Descriptor) -> Result<String> {
    let models = session.paths.models();
    let reranker = OnnxReranker::new(descriptor.clone(), &session.settings.embed, &models);
    reranker.score("which port", &["The API listens on port 8080."])?;
    Ok("it runs".into())
}

fn choose(session: &Session, name: &str) -> Result<()> {
    let catalog = Catalog::load(&session.paths)?;
    let descriptor = catalog.get(name)?;
    if !descriptor.is_installed(&session.paths.models()) {
        return Err(Error::new(ExitCode::Missing, format!("{name} is not installed"))
            .hint(format!("`lifecycle model pull {name}`{}", origin_hint(descriptor))));
    }
    let file = &session.paths.config_file;
    if descriptor.kind == ModelKind::Reranker {
        set(file, "search", "reranker", name)?;
        print_text(&format!("{name} orders what search finds from now on ({})\n", file.display()));
        return Ok(());
    }
    check(session, descriptor)?;
    set(file, "embed", "model", name)?;
    print_text(&format!(
        "{name} is chosen ({}). Ticks embed the entries again; until they are through, the \
         model used so far serves.\n",
        file.display()
    ));
    Ok(())
}

fn origin_hint(descriptor: &Descriptor) -> String {
    match descriptor.graph().map(|graph| &graph.origin) {
        Some(Origin::Hub { hub, .. }) => format!(" fetches it from {hub}"),
        Some(Origin::Package { package, .. }) => format!(" fetches it from the package {package}"),
        Some(Origin::Made { made }) => format!(" --from FOLDER ({made})"),
        None => String::new(),
    }
}

/// Sets one key of the user's file; everything else in it stays.
fn set(file: &Path, section: &str, key: &str, name: &str) -> Result<()> {
    let text = match crate::regular::text(file, crate::regular::SMALL) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::io(file, &error)),
    };
    let mut document: toml_edit::DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| {
            Error::config(format!("{}: {}", file.display(), error.to_string().trim_end()))
        })?;
    let table = document.entry(section).or_insert(toml_edit::table());
    let table = table
        .as_table_like_mut()
        .ok_or_else(|| Error::config(format!("{}: {section} is not a section", file.display())))?;
    match table.get_mut(key).and_then(toml_edit::Item::as_value_mut) {
        Some(value) => {
            let decor = value.decor().clone();
            *value = name.into();
            *value.decor_mut() = decor;
        }
        None => _ = table.insert(key, toml_edit::value(name)),
    }
    write_whole(file, &document.to_string())
}

fn write_whole(file: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let folder = file.parent().unwrap_or(Path::new("."));
    crate::paths::create_private(folder)?;
    let failed = |error: std::io::Error| Error::io(file, &error);
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}
