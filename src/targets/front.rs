//! Front matter: where it ends, and which files the rest of the document is for.

use super::TargetError;
use serde_yaml::Value;

/// The front matter of a Markdown file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// Byte offset behind it (and behind a byte order mark); where the document's own text starts.
    pub end: usize,
    /// Path globs of `paths:`, `globs:` or `applyTo:`; empty when the file is for all paths.
    pub globs: Vec<String>,
    /// `description:`, empty when there is none.
    pub description: String,
}

/// Reads the front matter at the head of `text`. A file without any is fine.
///
/// # Errors
/// [`TargetError::FrontMatter`] when it has no end or is not a YAML mapping.
pub fn front_matter(text: &str) -> Result<FrontMatter, TargetError> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Ok(FrontMatter { end: start, ..FrontMatter::default() });
    };
    let inner = start + first.len();
    let mut at = inner;
    for line in lines {
        if line.trim_end() == "---" {
            let end = at + line.len();
            return parse(&text[inner..at], end);
        }
        at += line.len();
    }
    Err(TargetError::FrontMatter("it opens with `---` and never ends".to_string()))
}

fn parse(yaml: &str, end: usize) -> Result<FrontMatter, TargetError> {
    let value: Value = serde_yaml::from_str(yaml)
        .or_else(|error| serde_yaml::from_str(&quote_globs(yaml)).map_err(|_| error))
        .map_err(|error| TargetError::FrontMatter(error.to_string()))?;
    if !(value.is_mapping() || value.is_null()) {
        return Err(TargetError::FrontMatter("it is not a mapping".to_string()));
    }
    let globs = ["paths", "globs", "applyTo"].iter().flat_map(|key| globs_of(value.get(*key)));
    let description = value.get("description").and_then(Value::as_str).unwrap_or_default();
    Ok(FrontMatter { end, globs: globs.collect(), description: description.to_string() })
}

/// Cursor writes `globs: **/*.ts` unquoted, which YAML reads as an alias and refuses.
fn quote_globs(yaml: &str) -> String {
    let quote = |line: &str| match line.split_once("globs:") {
        Some(("", value)) => format!("globs: {}", serde_json::Value::from(value.trim())),
        _ => line.to_string(),
    };
    yaml.lines().map(quote).collect::<Vec<_>>().join("\n")
}

fn globs_of(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(list)) => split_outside_braces(list),
        Some(Value::Sequence(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_string).collect()
        }
        _ => Vec::new(),
    }
}

fn split_outside_braces(list: &str) -> Vec<String> {
    let (mut depth, mut found, mut current) = (0_i32, Vec::new(), String::new());
    for ch in list.chars() {
        match ch {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if ch == ',' && depth <= 0 {
            found.push(std::mem::take(&mut current));
        } else {
            current.push(ch);
        }
    }
    found.push(current);
    found.iter().map(|glob| glob.trim().to_string()).filter(|glob| !glob.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn globs_of_every_assistant() {
        let claude =
            front_matter("---\npaths:\n  - \"src/api/**/*.{ts,tsx}\"\n---\n\n# API\n").unwrap();
        assert_eq!(claude.globs, ["src/api/**/*.{ts,tsx}"]);
        let cursor =
            front_matter("---\nglobs: **/*.tsx,src/{a,b}.css\nalwaysApply: false\n---\nx").unwrap();
        assert_eq!(cursor.globs, ["**/*.tsx", "src/{a,b}.css"]);
        let copilot = front_matter("---\napplyTo: \"**/*.rs, **/*.toml\"\n---\n").unwrap();
        assert_eq!(copilot.globs, ["**/*.rs", "**/*.toml"]);
    }

    #[test]
    fn broken_front_matter_is_named() {
        assert!(front_matter("---\npaths: [ \"src/**\"\n# no end\n\n- My rule.\n").is_err());
        assert!(front_matter("---\npaths: [ \"src/**\"\n---\n").is_err());
        assert_eq!(front_matter("# plain\n").unwrap().end, 0);
    }
}
