//! `lifecycle export`: everything the store knows, as JSON lines.

use super::Session;
use crate::error::{Error, ExitCode, Result};
use crate::exchange;
use crate::search::project_name;
use crate::store::Store;
use clap::Args;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Options of `export`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle export backup.jsonl
  lifecycle export --project ~/code/harbor harbor.jsonl")]
pub struct ExportArgs {
    /// The file to write, or `-` for standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Only this project (its root folder)
    #[arg(long)]
    project: Option<String>,
}

/// Writes the export; a file appears whole or not at all.
pub fn run(session: &Session, args: &ExportArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let project = args.project.as_deref().map(project_name);
    if args.file.as_os_str() == "-" {
        return to_stdout(&store, project.as_deref());
    }
    let failed = |error: std::io::Error| Error::io(&args.file, &error);
    if args.file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        // A pipe or a terminal is written to, not replaced.
        let mut out = BufWriter::new(std::fs::File::create(&args.file).map_err(failed)?);
        exchange::export(&store, project.as_deref(), &mut out)?;
        out.flush().map_err(failed)?;
        return Ok(ExitCode::Success);
    }
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(".".as_ref())).map_err(failed)?;
    let (entries, documents) = {
        let mut out = BufWriter::new(&mut file);
        let counts = exchange::export(&store, project.as_deref(), &mut out)?;
        out.flush().map_err(failed)?;
        counts
    };
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&args.file).map_err(|error| failed(error.error))?;
    super::print_aside(&format!(
        "{entries} entries and {documents} documents in {}",
        args.file.display()
    ));
    Ok(ExitCode::Success)
}

/// Writes to standard output. A reader that went away (`| head`) is no failure: it has what it
/// wanted, and the rest is not made.
fn to_stdout(store: &Store, project: Option<&str>) -> Result<ExitCode> {
    let mut out = Piped { out: BufWriter::new(io::stdout().lock()), is_closed: false };
    let done = exchange::export(store, project, &mut out).map(drop).and_then(|()| {
        out.flush().map_err(|error| Error::new(ExitCode::Failure, format!("the export: {error}")))
    });
    if out.is_closed { Ok(ExitCode::Success) } else { done.map(|()| ExitCode::Success) }
}

/// Standard output that remembers whether its reader went away.
struct Piped<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Piped<W> {
    fn noticed<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.is_closed |=
            done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl<W: Write> Write for Piped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.noticed(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.noticed(done)
    }
}
