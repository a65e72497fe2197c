//! The descriptors there are: those compiled in, then the user's own files, which win by name.

use super::{Descriptor, ModelKind};
use crate::error::{Error, ExitCode, Result};
use crate::paths::Paths;
use std::path::{Path, PathBuf};

const SHIPPED: &[&str] = &[
    include_str!("../../config/models/all-minilm-l6-v2.toml"),
    include_str!("../../config/models/multilingual-e5-small.toml"),
    include_str!("../../config/models/qwen3-embedding-0.6b.toml"),
];

/// Known models by name.
pub struct Catalog {
    descriptors: Vec<Descriptor>,
}

impl Catalog {
    /// The models compiled in.
    pub fn shipped() -> Self {
        let descriptors = SHIPPED
            .iter()
            .map(|text| Descriptor::parse(text).expect("shipped descriptors are valid"))
            .collect();
        Self { descriptors }
    }

    /// The models compiled in and the files `*.toml` of the models folder and of `models/` beside
    /// the settings file. A file that does not parse or has an unknown key is an error.
    pub fn load(paths: &Paths) -> Result<Self> {
        let mut catalog = Self::shipped();
        for folder in folders(paths) {
            for file in toml_files(&folder)? {
                catalog.add(read(&file)?);
            }
        }
        Ok(catalog)
    }

    /// All models, shipped ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Descriptor> {
        self.descriptors.iter()
    }

    /// The model of that name; the error names those there are.
    pub fn get(&self, name: &str) -> Result<&Descriptor> {
        self.find(name).ok_or_else(|| {
            let known: Vec<&str> = self.iter().map(|known| known.name.as_str()).collect();
            Error::config(format!("no model is called `{name}`"))
                .hint(format!("known: {}; `lifecycle model list` shows them", known.join(", ")))
        })
    }

    /// The model of that name and kind; one of another kind is an error.
    pub fn get_kind(&self, name: &str, kind: ModelKind) -> Result<&Descriptor> {
        let known = self.get(name)?;
        if known.kind == kind {
            return Ok(known);
        }
        let (is, wanted) = (known.kind.as_str(), kind.as_str());
        let hint = "search.reranker names a reranker, embed.model an embedder";
        Err(Error::config(format!("`{name}` is a model of kind {is}, not {wanted}")).hint(hint))
    }

    /// The model of that name, if there is one.
    pub fn find(&self, name: &str) -> Option<&Descriptor> {
        self.iter().find(|known| known.name == name)
    }

    fn add(&mut self, descriptor: Descriptor) {
        self.descriptors.retain(|known| known.name != descriptor.name);
        self.descriptors.push(descriptor);
    }
}

fn folders(paths: &Paths) -> Vec<PathBuf> {
    let beside = paths.config_file.parent().map(|folder| folder.join("models"));
    let mut folders = vec![paths.models()];
    folders.extend(beside.filter(|beside| *beside != paths.models()));
    folders
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(listing) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for item in listing {
        let path = item.map_err(|error| Error::io(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Descriptor> {
    let text = crate::regular::text(file, crate::regular::SMALL)
        .map_err(|error| Error::io(file, &error))?;
    Descriptor::parse(&text).map_err(|problem| {
        Error::new(ExitCode::Config, format!("{}: {problem}", file.display()))
            .hint("docs/embeddings.md describes every key of a model file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_user_file(text: &str) -> Result<Catalog> {
        let folder = tempfile::tempdir().expect("temporary folder");
        let models = folder.path().join("models");
        std::fs::create_dir_all(&models).expect("folder is made");
        std::fs::write(models.join("mine.toml"), text).expect("file is written");
        let paths = Paths {
            data: folder.path().join("data"),
            config_file: folder.path().join("config.toml"),
            home: folder.path().into(),
        };
        Catalog::load(&paths)
    }

    const MINE: &str = "name = 'mine'\nlicence = 'MIT'\ndtype = 'f32'\ndimensions = 8\n\
        max_tokens = 64\npooling = 'cls'\npadding = 'right'\nbatch_invariant = true\n";

    #[test]
    fn shipped_models_have_distinct_ids() {
        let mut ids: Vec<String> = Catalog::shipped().iter().map(Descriptor::id).collect();
        assert_eq!(ids.len(), 3);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn a_user_may_add_a_model_but_not_an_unknown_key() {
        let catalog = with_user_file(MINE).expect("the file is valid");
        assert_eq!(catalog.get("mine").expect("known").max_tokens, 64);
        let error = with_user_file(&format!("{MINE}poling = 'mean'\n")).err().expect("refused");
        assert_eq!(error.code, ExitCode::Config);
        assert!(error.message.contains("poling"), "{}", error.message);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = Catalog::shipped().get("nope").expect_err("unknown");
        assert!(error.hint.is_some_and(|hint| hint.contains("all-minilm-l6-v2")));
    }

    #[test]
    fn whatever_changes_a_vector_changes_the_id() {
        let base = Descriptor::parse(MINE).expect("valid");
        let mut ids = vec![base.id()];
        ids.push(Descriptor { dimensions: 9, ..base.clone() }.id());
        ids.push(Descriptor { pooling: super::super::Pooling::Mean, ..base.clone() }.id());
        ids.push(Descriptor { document_prefix: "query: ".into(), ..base.clone() }.id());
        ids.push(Descriptor { dtype: "f16".into(), ..base.clone() }.id());
        let relicensed = Descriptor { licence: "Apache-2.0".into(), ..base };
        assert_eq!(relicensed.id(), ids[0]);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 5);
    }
}
