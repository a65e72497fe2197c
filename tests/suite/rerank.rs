//! Cross-encoders: small real graphs against the reference runtime, and what a search makes of them.

use crate::support::{Home, models};
use lifecycle::config::{EmbedSettings, Layers};
use lifecycle::embed::{Descriptor, OnnxReranker, Reranker, runtime};
use serde_json::Value;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cross-encoder");

fn sum(file: &Path) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(std::fs::read(file).unwrap());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The descriptor of a fixture as a user would write it.
fn descriptor(name: &str, outputs: usize) -> String {
    let file = |name: &str, source: &str| {
        let path = Path::new(FIXTURES).join(source);
        format!(
            "[[files]]\nname = \"{name}\"\nbytes = {}\nsha256 = \"{}\"\norigin = {{ made = \"make.py\" }}\n",
            path.metadata().unwrap().len(),
            sum(&path)
        )
    };
    format!(
        "name = \"{name}\"\nkind = \"reranker\"\nlicence = \"Apache-2.0\"\ndtype = \"f32\"\n\
         dimensions = {outputs}\nmax_tokens = 64\npooling = \"none\"\npadding = \"right\"\n\
         batch_invariant = true\noutput = \"logits\"\n{}{}",
        file("model.onnx", &format!("{name}.onnx")),
        file("tokenizer.json", "tokenizer.json"),
    )
}

fn settings() -> EmbedSettings {
    let mut settings = Layers::defaults().settings().unwrap().embed;
    settings.onnxruntime = runtime::installed_library(&models()).display().to_string();
    settings
}

fn put(folder: &Path, name: &str) {
    let place = folder.join(name);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::copy(format!("{FIXTURES}/{name}.onnx"), place.join("model.onnx")).unwrap();
    std::fs::copy(format!("{FIXTURES}/tokenizer.json"), place.join("tokenizer.json")).unwrap();
}

/// A home whose models folder has the runtime library, the small model and a reranker.
fn home_with(name: &str) -> Home {
    let mut home = Home::new();
    let folder = home.path().join("models");
    std::fs::create_dir_all(&folder).unwrap();
    for given in std::fs::read_dir(models()).unwrap() {
        let given = given.unwrap();
        std::os::unix::fs::symlink(given.path(), folder.join(given.file_name())).unwrap();
    }
    put(&folder, name);
    std::fs::write(folder.join(format!("{name}.toml")), descriptor(name, 1)).unwrap();
    home.set("LIFECYCLE_MODELS", folder.to_str().unwrap());
    home
}

#[test]
fn logits_are_those_of_the_reference_alone_and_in_batches() {
    let golden = std::fs::read_to_string(format!("{FIXTURES}/golden.json")).unwrap();
    let golden: Vec<Value> = serde_json::from_str(&golden).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, outputs) in [("overlap", 1), ("random", 2)] {
        put(folder.path(), name);
        let descriptor = Descriptor::parse(&descriptor(name, outputs)).unwrap();
        let reranker = OnnxReranker::new(descriptor, &settings(), folder.path());
        let rows: Vec<&Value> = golden.iter().filter(|row| row["model"] == name).collect();
        assert_eq!(rows.len(), 6);
        for query in ["which port", "where do pilots board", "Größe?"] {
            let of_query: Vec<&&Value> = rows.iter().filter(|row| row["query"] == query).collect();
            let texts: Vec<&str> =
                of_query.iter().map(|row| row["text"].as_str().unwrap()).collect();
            // Together they differ in length, so shorter ones are padded.
            let logits = reranker.score(query, &texts).unwrap();
            for (row, logit) in of_query.iter().zip(logits) {
                let wanted = row["logit"].as_f64().unwrap();
                assert!((wanted - f64::from(logit)).abs() < 1e-4, "{logit} for {row}");
            }
        }
    }
}

#[test]
fn a_search_is_ordered_by_the_cross_encoder_and_says_so() {
    let mut home = home_with("overlap");
    for text in [
        "which port is which, port or starboard: which port which port",
        "The API listens on port 8080",
        "Pilots board at the outer buoy",
    ] {
        home.run(&["add", text]).success();
    }
    let query = ["search", "the api port", "--explain"];
    let plain = home.json(&query);
    assert_eq!(plain["reranked_by"], Value::Null);
    home.set("LIFECYCLE_SEARCH__RERANKER", "overlap");
    let reranked = home.json(&query);
    assert_eq!(reranked["reranked_by"], "overlap");
    let best = &reranked["results"][0];
    assert_eq!(best["text"], "The API listens on port 8080");
    assert_eq!(best["explanation"]["reranked"]["rank"], 1);
    // 3 of the 5 tokens of the query are in it (`api` and `the` are whole, …): a probability, the
    // same whatever else is found.
    let score = best["score"].as_f64().unwrap();
    let alone = home.json(&["search", "the api port", "-k", "1"]);
    assert_eq!(alone["results"][0]["score"].as_f64(), Some(score));
    let scores = reranked["results"].as_array().unwrap().iter();
    let scores: Vec<f64> = scores.map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|x, y| x >= y), "{scores:?}");
    let shown = home.run(&query).success();
    assert!(shown.out.contains("reranked") && shown.err.contains("reranked by overlap"));
    let status = home.run(&["status"]).success();
    assert!(status.out.contains("overlap"), "{}", status.out);
}

#[test]
fn without_the_model_a_search_goes_on_and_says_so() {
    let mut home = home_with("overlap");
    home.run(&["add", "The API listens on port 8080"]).success();
    let said = home.run(&["search", "port", "--explain"]).success();
    assert!(said.err.contains("not reranked"), "{}", said.err);
    home.set("LIFECYCLE_SEARCH__RERANKER", "overlap");
    std::fs::remove_file(home.path().join("models/overlap/model.onnx")).unwrap();
    let answer = home.json(&["search", "port"]);
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("not reranked") && notes.contains("not installed"), "{notes}");
    let broken = home.path().join("models/overlap/model.onnx");
    std::fs::write(broken, "no graph").unwrap();
    let answer = home.json(&["search", "port"]);
    assert!(answer["notes"].to_string().contains("not reranked"), "{answer}");
    home.set("LIFECYCLE_SEARCH__RERANKER", "all-minilm-l6-v2");
    let answer = home.json(&["search", "port"]);
    assert!(answer["notes"].to_string().contains("not reranker"), "{answer}");
}

#[test]
fn a_reranker_is_listed_installed_chosen_and_measured() {
    let home = home_with("overlap");
    let listed = home.json(&["model", "list"]);
    let row = listed.as_array().unwrap().iter().find(|row| row["name"] == "overlap").unwrap();
    assert_eq!((&row["kind"], &row["installed"]), (&"reranker".into(), &true.into()));
    let pulled = home.run(&["model", "pull", "overlap"]).success();
    assert!(pulled.out.contains("it runs"), "{}", pulled.out);
    home.run(&["search", "x", "--set", "embed.model=overlap"]).success();
    home.run(&["model", "use", "overlap"]).success();
    let shown = home.run(&["config", "show"]).success();
    assert!(shown.out.contains("overlap"), "{}", shown.out);

    let added = home.json(&["add-text", "The API listens on port 8080"]);
    home.run(&["add-text", "Pilots board at the outer buoy"]).success();
    let file = home.path().join("golden.jsonl").display().to_string();
    let id = added[0]["id"].as_str().unwrap();
    home.run(&["eval", "add", &file, "which port", id]).success();
    let columns = home.json(&["eval", "retrieval", &file]);
    let names: Vec<&str> =
        columns.as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lexical", "dense", "hybrid", "reranked"]);
    assert_eq!(columns[3]["recall_1"], 1.0);
}
