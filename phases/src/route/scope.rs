//! Which files an entry may go to, and whether a rules file's globs match what it speaks of.

use regex::Regex;

/// Whether one of `globs` matches one of `files`; `None` when either side says nothing.
///
/// Globs are those of the assistants: `**`, `*`, `?`, `[…]`, `{a,b}`. A file matches by any of its
/// tails, since entries often name it by its last parts only.
pub fn globs_match(globs: &[String], files: &[String]) -> Option<bool> {
    if globs.is_empty() || files.is_empty() {
        return None;
    }
    let patterns: Vec<Regex> = globs.iter().filter_map(|glob| pattern(glob)).collect();
    Some(files.iter().any(|file| patterns.iter().any(|pattern| pattern.is_match(file))))
}

/// Whether one of `files` lies in `folder` (with `/`, relative to the root); `None` for the root
/// itself and where no file is named.
pub fn folder_holds(folder: &str, files: &[String]) -> Option<bool> {
    if folder.is_empty() || files.is_empty() {
        return None;
    }
    let inside = format!("{}/", folder.trim_end_matches('/'));
    Some(files.iter().any(|file| file.starts_with(&inside) || file.contains(&format!("/{inside}"))))
}

/// Paths that a text names: words with a slash or with a file ending.
pub fn named_files(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .split(|ch: char| ch.is_whitespace() || "`'\"()[]<>,;".contains(ch))
        .map(|word| word.trim_end_matches(['.', ':', '!', '?']).trim_start_matches("./"))
        .filter(|word| is_path(word))
        .map(str::to_string)
        .collect();
    found.sort();
    found.dedup();
    found
}

fn is_path(word: &str) -> bool {
    let plain = |ch: char| ch.is_alphanumeric() || "/._-*@+".contains(ch);
    if word.len() < 3 || word.contains("://") || !word.chars().all(plain) {
        return false;
    }
    let ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        stem.len() >= 2
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|ch| ch.is_ascii_alphanumeric())
            && ending.chars().any(|ch| ch.is_ascii_alphabetic())
    });
    ending || word.trim_matches('/').contains('/')
}

fn pattern(glob: &str) -> Option<Regex> {
    let mut out = String::from("(?:^|/)");
    let (mut rest, mut braces) = (glob.trim_start_matches("./").trim_start_matches('/'), 0_u32);
    while let Some(ch) = rest.chars().next() {
        let (piece, used) = match ch {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_string(), 3),
            '*' if rest.starts_with("**") => (".*".to_string(), 2),
            '*' => ("[^/]*".to_string(), 1),
            '?' => ("[^/]".to_string(), 1),
            '{' => {
                braces += 1;
                ("(?:".to_string(), 1)
            }
            '}' if braces > 0 => {
                braces -= 1;
                (")".to_string(), 1)
            }
            ',' if braces > 0 => ("|".to_string(), 1),
            '[' if rest.contains(']') => {
                let end = rest.find(']').unwrap_or(0) + 1;
                (rest[..end].replace("[!", "[^"), end)
            }
            other => (regex::escape(&other.to_string()), other.len_utf8()),
        };
        out.push_str(&piece);
        rest = &rest[used..];
    }
    out.push('$');
    Regex::new(&out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn globs_of_rules_files() {
        let files = list(&["src/api/users/list.ts"]);
        assert_eq!(globs_match(&list(&["src/api/**/*.{ts,tsx}"]), &files), Some(true));
        assert_eq!(globs_match(&list(&["src/ui/**"]), &files), Some(false));
        assert_eq!(globs_match(&list(&["**/*.ts"]), &files), Some(true));
        assert_eq!(globs_match(&[], &files), None);
    }

    #[test]
    fn files_are_found_in_a_text() {
        assert_eq!(
            named_files("Edit `src/api/list.ts`, not ui-app/ (see e.g. Cargo.toml)."),
            ["Cargo.toml", "src/api/list.ts"]
        );
        assert_eq!(folder_holds("src/api", &list(&["src/api/x.ts"])), Some(true));
    }
}
