//! What a word is by its letters.

/// Whether a word is a hash in hexadecimal.
pub fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len())
        && text.chars().all(|ch| matches!(ch, '0'..='9' | 'a'..='f'))
        && text.chars().any(|ch| ch.is_ascii_digit())
        && text.chars().any(|ch| ch.is_ascii_alphabetic())
}

/// Whether a word is a name of code rather than of language.
pub fn is_identifier(text: &str) -> bool {
    if matches!(text.to_lowercase().as_str(), "e.g" | "i.e" | "z.b" | "p.ex" | "d.h") {
        return false;
    }
    if is_hash(text) || text.contains(['_', '.']) || text.contains("::") || text.contains("->") {
        return true;
    }
    let chars: Vec<char> = text.chars().collect();
    let digit = chars.iter().any(char::is_ascii_digit);
    let letter = chars.iter().any(|ch| ch.is_alphabetic());
    let inner_capital =
        chars.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let capitals = chars.iter().filter(|ch| ch.is_uppercase()).count();
    let all_capitals = capitals >= 2 && !chars.iter().any(|ch| ch.is_lowercase());
    let hyphen_name = text.contains('-')
        && text.split('-').filter(|part| part.starts_with(char::is_uppercase)).count() >= 2;
    let joined = text.contains(':') && letter;
    (digit && letter) || inner_capital || all_capitals || hyphen_name || joined
}
