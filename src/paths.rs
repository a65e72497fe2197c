//! Where the engine keeps its files.
//!
//! `LIFECYCLE_HOME` puts everything into one folder. Otherwise the data folder is the platform's
//! (`$XDG_DATA_HOME/lifecycle`, macOS `~/Library/Application Support/lifecycle`) and the user's
//! settings are `$XDG_CONFIG_HOME/lifecycle/config.toml`.

use crate::error::{Error, ExitCode, Result};
use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

/// The folders of one user.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Data folder; holds the database, inbox, index and models.
    pub data: PathBuf,
    /// The user's settings file; need not exist.
    pub config_file: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
}

impl Paths {
    /// The folders as the environment states them. Nothing is created.
    pub fn from_env() -> Result<Self> {
        let home = home()?;
        let (data, config) = match non_empty("LIFECYCLE_HOME") {
            Some(root) => (PathBuf::from(&root), PathBuf::from(root)),
            None => {
                let base = etcetera::choose_base_strategy().map_err(|error| no_home(&error))?;
                (base.data_dir().join("lifecycle"), base.config_dir().join("lifecycle"))
            }
        };
        let config_file =
            non_empty("LIFECYCLE_CONFIG").map_or_else(|| config.join("config.toml"), PathBuf::from);
        if let Some(file) = data.ancestors().find(|path| path.is_file()) {
            return Err(Error::config(format!(
                "{} is a file; the folder {} cannot be made",
                file.display(),
                data.display()
            ))
            .hint("set LIFECYCLE_HOME to a folder, or move the file away"));
        }
        Ok(Self { data, config_file, home })
    }

    /// Makes the data folder where it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create_data(&self) -> Result<()> {
        make_private(&self.data).map_err(|error| Error::unwritable(&self.data, &error))
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.data.join("lifecycle.sqlite3")
    }

    /// Folder of records that hooks and busy writers left.
    pub fn inbox(&self) -> PathBuf {
        self.data.join("inbox")
    }

    /// Where records go while the inbox takes none: a file has its name, or it is closed.
    pub fn spare_inbox(&self) -> PathBuf {
        self.data.join("inbox-spare")
    }

    /// Folder of derived index files.
    pub fn index(&self) -> PathBuf {
        self.data.join("index")
    }

    /// Folder of model files and the runtime library; shared by stores through `LIFECYCLE_MODELS`.
    pub fn models(&self) -> PathBuf {
        non_empty("LIFECYCLE_MODELS").map_or_else(|| self.data.join("models"), PathBuf::from)
    }

    /// Folder of logs.
    pub fn log(&self) -> PathBuf {
        self.data.join("log")
    }

    /// The lock that one tick at a time holds.
    pub fn tick_lock(&self) -> PathBuf {
        self.data.join("tick.lock")
    }
}

/// The user's home folder, from the environment or the user database.
pub fn home() -> Result<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| no_home(&"no home folder"))
}

fn non_empty(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn no_home(error: &dyn std::fmt::Display) -> Error {
    Error::new(ExitCode::Config, format!("cannot tell where your files live: {error}"))
        .hint("set HOME, or LIFECYCLE_HOME to a folder of your choice")
}

/// Creates `folder` and its parents, readable by the owner alone.
pub fn create_private(folder: &Path) -> Result<()> {
    make_private(folder).map_err(|error| Error::io(folder, &error))
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
