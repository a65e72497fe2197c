//! What is built in from elsewhere: where it comes from, and under which licence. The same rules as
//! in `deny.toml`, checked without further tools. Advisories need their database: `scripts/audit`.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    metadata["packages"].as_array().unwrap().clone()
}

fn rules() -> toml_edit::DocumentMut {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml");
    std::fs::read_to_string(file).unwrap().parse().unwrap()
}

#[test]
fn everything_comes_from_the_one_registry() {
    let packages = packages();
    // The registry that cargo uses by itself is the one of a package that is surely there.
    let known = packages.iter().find(|package| package["name"] == "serde").unwrap();
    let registry = known["source"].as_str().unwrap();
    assert!(registry.starts_with("registry+"), "{registry}");
    for package in &packages {
        let fine = match package["source"].as_str() {
            Some(source) => source == registry,
            // The workspace alone has no source: nothing is taken from a folder beside it.
            None => package["name"].as_str().unwrap().starts_with("lifecycle"),
        };
        assert!(fine, "{}: {}", package["name"], package["source"]);
    }
}

#[test]
fn every_licence_is_an_allowed_one() {
    let rules = rules();
    let allowed: Vec<&str> = rules["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let mut odd = Vec::new();
    let packages = packages();
    assert!(packages.len() > 100);
    for package in &packages {
        let named = package["license"].as_str().unwrap_or("");
        if !holds(named, &allowed) {
            odd.push(format!("{}: {named:?}", package["name"]));
        }
    }
    assert!(odd.is_empty(), "{odd:#?}");
}

#[test]
fn an_expression_of_licences_is_understood() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/X",
        "(MIT OR X) AND Apache-2.0",
        "Apache-2.0 WITH LLVM-exception OR X",
    ] {
        assert!(holds(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR X) AND Y"] {
        assert!(!holds(bad, &allowed), "{bad}");
    }
}

/// Whether an SPDX expression can be met by licences that are allowed.
fn holds(expression: &str, allowed: &[&str]) -> bool {
    let text = expression.trim().replace('/', " OR ");
    for word in [" AND ", " OR "] {
        let parts = split(&text, word);
        if parts.len() > 1 {
            // AND binds tighter, so OR is the outer one and is tried first.
            let outer = split(&text, " OR ");
            if outer.len() > 1 {
                return outer.iter().any(|part| holds(part, allowed));
            }
            return parts.iter().all(|part| holds(part, allowed));
        }
    }
    match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => holds(inner, allowed),
        None => allowed.contains(&text.as_str()),
    }
}

/// Splits at a word outside brackets.
fn split(text: &str, word: &str) -> Vec<String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, ch) in text.char_indices() {
        match ch {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(word) => {
                parts.push(text[start..at].trim().to_string());
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim().to_string());
    parts
}

/// What `deny.toml` bans by name is not there.
#[test]
fn no_banned_package_is_built_in() {
    let rules = rules();
    let banned: Vec<String> = rules["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ban| ban.as_inline_table().unwrap()["crate"].as_str().unwrap().to_string())
        .collect();
    assert!(!banned.is_empty());
    for package in packages() {
        assert!(!banned.iter().any(|name| package["name"] == name.as_str()), "{}", package["name"]);
    }
}
