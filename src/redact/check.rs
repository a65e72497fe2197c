//! What tells a secret from a value that only looks like one.

/// What must hold for a value besides its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Check {
    /// The shape is enough.
    None,
    /// At least this entropy, in bits a character.
    Entropy(f64),
    /// The password of an address.
    Url,
    /// A value assigned to something called a password.
    Password,
    /// A value assigned to something called a secret, token or key.
    Token,
}

impl Check {
    /// Whether `value`, quotes included where there are any, is taken for a secret.
    pub(super) fn holds(self, value: &str) -> bool {
        let bare = value.trim_matches(['"', '\'', '`']);
        let quoted = bare.len() < value.len();
        match self {
            Self::None => true,
            Self::Entropy(least) => entropy(bare) >= least,
            Self::Url => !is_placeholder(bare),
            Self::Password => !is_placeholder(bare) && is_password(bare, quoted),
            Self::Token => !is_placeholder(bare) && is_token(bare, quoted),
        }
    }
}

/// Shannon entropy of the characters of `text`, in bits a character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    for ch in text.chars() {
        *counts.entry(ch).or_insert(0u32) += 1;
    }
    let total = text.chars().count().max(1) as f64;
    counts.values().map(|n| f64::from(*n) / total).map(|share| -share * share.log2()).sum()
}

/// A value that stands for one: a variable, a blank to fill in, stars, a taken secret.
fn is_placeholder(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "password",
        "passwd",
        "pass",
        "secret",
        "token",
        "changeme",
        "change-me",
        "none",
        "null",
        "true",
        "false",
        "undefined",
        "string",
        "required",
        "optional",
        "redacted",
        "example",
        "empty",
        "todo",
        "unset",
        "hidden",
    ];
    let lower = value.to_lowercase();
    let opens = ['$', '<', '{', '%', '[', '(', '*', '@', '&', '?'];
    value.starts_with(opens)
        || value.contains("[redacted")
        || value.contains("...")
        || value.contains('…')
        || value.contains("://")
        || [
            "your", "my_", "my-", "dummy", "xxx", "insert", "env.", "process.", "os.", "vault:",
            "op:",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
        || WORDS.contains(&lower.trim_end_matches(['.', ',', ';', ')']))
        || value.chars().collect::<std::collections::BTreeSet<_>>().len() < 3
}

fn is_password(value: &str, quoted: bool) -> bool {
    let (letters, digits, marks) = classes(value);
    let is_call = value.contains('(') || value.ends_with("()") || value.contains("::");
    if quoted {
        return value.len() >= 6 && !value.contains(' ') && !is_name(value);
    }
    let is_place = ["/", "~/", "./"].iter().any(|start| value.starts_with(start));
    let has_variety = (digits > 0 && letters + marks > 0) || inner_marks(value);
    value.len() >= 6
        && has_variety
        && !is_call
        && !is_place
        && (!is_name(value) || is_word_and_digit(value))
        && !is_file(value)
}

/// One word of one case with a digit behind it, as people choose passwords (`hunter2`): a name only
/// where nothing called a password stands before it.
fn is_word_and_digit(value: &str) -> bool {
    let word = value.trim_end_matches(|ch: char| ch.is_ascii_digit());
    let rest: String = word.chars().skip(1).collect();
    let is_of_passwords = ["pass", "pwd", "secret", "token"].iter().any(|own| word.contains(own));
    word.len() < value.len()
        && !rest.is_empty()
        && rest.chars().all(|ch| ch.is_lowercase())
        && !is_of_passwords
}

fn is_token(value: &str, quoted: bool) -> bool {
    let (letters, digits, _) = classes(value);
    let is_long = value.len() >= if quoted { 12 } else { 14 };
    let is_path = value.contains('/') && !value.contains('+') && value.split('/').count() > 2;
    is_long
        && letters > 0
        && (digits > 1 || (digits == 1 && entropy(value) >= 3.8))
        && entropy(value) >= 3.0
        && !is_uuid(value)
        && !is_name(value)
        && !is_file(value)
        && (quoted || !is_path)
}

/// Letters, digits, and everything else.
fn classes(value: &str) -> (usize, usize, usize) {
    let letters = value.chars().filter(|ch| ch.is_alphabetic()).count();
    let digits = value.chars().filter(char::is_ascii_digit).count();
    (letters, digits, value.chars().count() - letters - digits)
}

/// Punctuation within a word that no sentence has there.
fn inner_marks(value: &str) -> bool {
    let inner = value.trim_matches(|ch: char| !ch.is_alphanumeric());
    inner.chars().any(|ch| "!#$%^&*+=~|\\".contains(ch)) && inner.chars().any(char::is_alphabetic)
}

/// A name in a program: words joined by `_`, `.` or `-`, with few digits at the ends of words.
fn is_name(value: &str) -> bool {
    let mut words = value.split(['_', '.', '-', ':']).filter(|word| !word.is_empty());
    let is_word = |word: &str| {
        let stem = word.trim_end_matches(|ch: char| ch.is_ascii_digit());
        let is_short_number = stem.is_empty() && word.len() <= 2;
        let same_case =
            stem.chars().all(char::is_lowercase) || stem.chars().all(char::is_uppercase);
        let camel = stem.chars().skip(1).filter(|ch| ch.is_uppercase()).count() <= stem.len() / 4;
        let alphabetic = stem.chars().all(char::is_alphabetic);
        is_short_number
            || (alphabetic
                && !stem.is_empty()
                && word.len() - stem.len() <= 1
                && (same_case || camel))
    };
    words.all(is_word) && (value.len() < 40 || value.contains(['_', '.', '-']))
}

/// A path or file name with a short extension of letters.
fn is_file(value: &str) -> bool {
    let name = value.trim_end_matches(['.', ',', ';', ':', ')']);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension
        .is_some_and(|e| (1..=5).contains(&e.len()) && e.chars().all(|ch| ch.is_ascii_lowercase()))
}

fn is_uuid(value: &str) -> bool {
    let groups: Vec<&str> = value.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
