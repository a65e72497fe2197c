//! Text that the engine itself wrote, taken out of what comes in.
//!
//! Everything the engine puts before an assistant or into a file stands between its own marks:
//! `<lifecycle-memory>` for injected context, `<lifecycle-health>` for what it says about itself,
//! the block markers in config files, the mark of its prompts. None of it may come back as a memory. Sentences
//! of older versions, which had no mark, are named in `capture.own_wordings`.

/// Opening and closing text of the engine's own blocks; a block that is not closed reaches to the
/// end.
pub const BLOCKS: &[(&str, &str)] = &[
    ("<lifecycle-memory", "</lifecycle-memory>"),
    ("<lifecycle-health", "</lifecycle-health>"),
    ("<!-- lifecycle:begin", "<!-- lifecycle:end -->"),
];

/// A line with this is ours.
const LINE: &str = "<!-- lifecycle:";

/// `text` without what the engine wrote, and without the lines that hold one of `wordings` (case
/// does not count). Borrowed lines stay byte for byte.
pub fn without_own(text: &str, wordings: &[String]) -> String {
    let mut rest = text.to_string();
    for (open, close) in BLOCKS {
        rest = without_blocks(&rest, open, close, |_| {});
    }
    let wordings: Vec<String> = wordings
        .iter()
        .map(|wording| wording.trim().to_lowercase())
        .filter(|wording| !wording.is_empty())
        .collect();
    let is_own = |line: &str| {
        let lower = line.to_lowercase();
        line.contains(LINE) || wordings.iter().any(|wording| lower.contains(wording))
    };
    if !rest.lines().any(is_own) {
        return rest;
    }
    rest.lines().filter(|line| !is_own(line)).collect::<Vec<_>>().join("\n")
}

/// `text` without the blocks from `open` to `close`, each of which is shown to `found`; a block that
/// is not closed reaches to the end.
pub fn without_blocks(text: &str, open: &str, close: &str, mut found: impl FnMut(&str)) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        out.push_str(&rest[..at]);
        let block = &rest[at..];
        let end = block.find(close).map_or(block.len(), |end| end + close.len());
        found(&block[..end]);
        rest = &block[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e6_what_the_engine_wrote_leaves() {
        let none: &[String] = &[];
        let banner = "<lifecycle-health>\nconsolidation fails since 3 days\n</lifecycle-health>";
        assert_eq!(without_own(banner, none).trim(), "");
        let mixed = format!("{banner}\nThe quay takes 4 ships.\n<!-- lifecycle:internal -->");
        assert_eq!(without_own(&mixed, none).trim(), "The quay takes 4 ships.");
        assert_eq!(without_own("a <lifecycle-memory> never closed", none), "a ");
        let old = ["observer degraded".to_string()];
        let text = "Warning: Observer degraded since Monday.\nThe quay takes 4 ships.";
        assert_eq!(without_own(text, &old), "The quay takes 4 ships.");
        assert_eq!(without_own("kept  as it\n\nis\n", &old), "kept  as it\n\nis\n");
    }
}
