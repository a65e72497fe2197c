//! Unified diffs of files.

use similar::TextDiff;
use std::path::Path;

/// The unified diff of a file from `before` to `after`; `None` stands for a file that is not there.
pub fn unified(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let name = path.display().to_string();
    let side = |content: Option<&[u8]>| {
        if content.is_some() { name.clone() } else { "/dev/null".to_string() }
    };
    let (old, new) = (text(before), text(after));
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(3)
        .header(&side(before), &side(after))
        .to_string()
}

fn text(content: Option<&[u8]>) -> String {
    String::from_utf8_lossy(content.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_line_shows_as_added() {
        let diff = unified(Path::new("a.md"), Some(b"one\ntwo\n"), Some(b"one\nand\ntwo\n"));
        assert!(
            diff.starts_with("--- a.md\n+++ a.md\n@@ -1,2 +1,3 @@\n one\n+and\n two\n"),
            "{diff}"
        );
    }

    #[test]
    fn a_new_file_comes_from_nowhere() {
        assert!(
            unified(Path::new("a.md"), None, Some(b"x\n")).starts_with("--- /dev/null\n+++ a.md")
        );
    }
}
