//! The bullets and paragraphs of a section: the unit in which files are compared with an entry.

/// A block is cut at this length (bytes), so that one long table does not become one vector.
const MOST: usize = 1200;

/// The blocks of `body` with the number of the line (from 0) each starts on. Headings are left
/// out, a code fence is one block.
pub fn blocks(body: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut current: Option<(usize, String)> = None;
    let mut fence: Option<&str> = None;
    for (number, line) in body.lines().enumerate() {
        let word = line.trim();
        let closes = fence.is_some_and(|mark| word.starts_with(mark));
        let opens =
            ["```", "~~~"].into_iter().find(|mark| fence.is_none() && word.starts_with(mark));
        let in_fence = fence.is_some() || opens.is_some();
        fence = if closes { None } else { fence.or(opens) };
        if !in_fence && (word.is_empty() || is_heading(word) || is_rule(word)) {
            found.extend(current.take());
            continue;
        }
        let full = current.as_ref().is_some_and(|(_, text)| text.len() > MOST);
        if full || (!in_fence && is_item(word)) {
            found.extend(current.take());
        }
        let (_, text) = current.get_or_insert_with(|| (number, String::new()));
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(word);
    }
    found.extend(current);
    found.retain(|(_, text)| text.chars().any(char::is_alphanumeric));
    found
}

fn is_heading(line: &str) -> bool {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&level) && line[level..].chars().next().is_none_or(char::is_whitespace)
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| b"-*_= ".contains(&byte))
}

fn is_item(line: &str) -> bool {
    let after_mark = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then(|| line[digits..].strip_prefix(['.', ')'])).flatten()
    });
    after_mark.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_paragraphs_and_fences() {
        let body = "# A\n\none\ntwo\n- x\n  more\n- y\n```\ncode\n\n- no item\n```\n---\n";
        let texts: Vec<(usize, String)> = blocks(body);
        assert_eq!(
            texts,
            [
                (2, "one\ntwo".to_string()),
                (4, "- x\nmore".to_string()),
                (6, "- y\n```\ncode\n\n- no item\n```".to_string())
            ]
        );
    }
}
