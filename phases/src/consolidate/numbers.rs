//! Numbers in words: English, French, German.

/// The value of the number that begins `words` (lower case), and how many words it takes. `None`
/// where there is none, or where it is one or two, which ordinary sentences are full of.
pub fn spelled(words: &[String]) -> Option<(u64, usize)> {
    let (mut total, mut current, mut used) = (0_u64, 0_u64, 0);
    for (i, word) in words.iter().enumerate() {
        let joins = matches!(word.as_str(), "and" | "et") && used > 0 && i + 1 < words.len();
        if joins && continues(current, &words[i + 1]) {
            continue;
        }
        match add(total, current, word) {
            Some(sum) => (total, current) = sum,
            None => break,
        }
        used = i + 1;
    }
    let value = total + current;
    (used > 0 && (value > 2 || used > 1)).then_some((value, used))
}

/// Whether what follows "and" still belongs to the number: `two hundred and five`, `vingt et un`.
fn continues(current: u64, next: &str) -> bool {
    simple(next).is_some_and(|value| current >= 20 && fits(current, value))
}

fn add(total: u64, current: u64, word: &str) -> Option<(u64, u64)> {
    let parts: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
    let mut sum = (total, current);
    for part in parts {
        sum = add_part(sum.0, sum.1, part)?;
    }
    (sum != (total, current)).then_some(sum)
}

fn add_part(total: u64, current: u64, part: &str) -> Option<(u64, u64)> {
    if matches!(part, "vingt" | "vingts") && current % 100 == 4 {
        return Some((total, current + 76));
    }
    if part == "et" && current > 0 {
        return Some((total, current));
    }
    if let Some(factor) = factor(part) {
        return match factor {
            100 if current < 100 => Some((total, current.max(1) * 100)),
            1_000_000 if current == 0 => None,
            100 => None,
            factor => Some((total + current.max(1) * factor, 0)),
        };
    }
    let value = simple(part).or_else(|| german(part))?;
    fits(current, value).then_some((total, current + value))
}

/// Whether a number goes on with this value: after the tens come the ones.
fn fits(current: u64, value: u64) -> bool {
    let rest = current % 100;
    current == 0
        || (rest == 0 && value < 100)
        || (rest >= 20 && rest.is_multiple_of(10) && value < 10)
        || (matches!(rest, 60 | 80) && (10..20).contains(&value))
}

fn factor(word: &str) -> Option<u64> {
    Some(match word {
        "hundred" | "cent" | "cents" | "hundert" => 100,
        "thousand" | "mille" | "tausend" => 1000,
        "million" | "millions" | "millionen" => 1_000_000,
        _ => return None,
    })
}

/// `fünfundzwanzig`, `dreihundert`, `zweitausend`.
fn german(word: &str) -> Option<u64> {
    if let Some((ones, tens)) = word.split_once("und")
        && let (Some(ones), Some(tens)) = (small_german(ones), simple(tens))
        && tens >= 20
    {
        return Some(tens + ones);
    }
    for (suffix, factor) in [("hundert", 100), ("tausend", 1000)] {
        if let Some(head) = word.strip_suffix(suffix).filter(|head| !head.is_empty()) {
            return small_german(head).map(|value| value * factor);
        }
    }
    None
}

fn small_german(word: &str) -> Option<u64> {
    if word == "ein" { Some(1) } else { simple(word) }
}

/// A number of one word.
fn simple(word: &str) -> Option<u64> {
    const WORDS: &[(&[&str], u64)] = &[
        (&["one", "eins", "un", "une"], 1),
        (&["two", "deux", "zwei"], 2),
        (&["three", "trois", "drei"], 3),
        (&["four", "quatre", "vier"], 4),
        (&["five", "cinq", "fünf"], 5),
        (&["six", "sechs"], 6),
        (&["seven", "sept", "sieben"], 7),
        (&["eight", "huit", "acht"], 8),
        (&["nine", "neuf", "neun"], 9),
        (&["ten", "dix", "zehn"], 10),
        (&["eleven", "onze", "elf"], 11),
        (&["twelve", "douze", "zwölf"], 12),
        (&["thirteen", "treize", "dreizehn"], 13),
        (&["fourteen", "quatorze", "vierzehn"], 14),
        (&["fifteen", "quinze", "fünfzehn"], 15),
        (&["sixteen", "seize", "sechzehn"], 16),
        (&["seventeen", "siebzehn"], 17),
        (&["eighteen", "achtzehn"], 18),
        (&["nineteen", "neunzehn"], 19),
        (&["twenty", "vingt", "zwanzig"], 20),
        (&["thirty", "trente", "dreißig"], 30),
        (&["forty", "quarante", "vierzig"], 40),
        (&["fifty", "cinquante", "fünfzig"], 50),
        (&["sixty", "soixante", "sechzig"], 60),
        (&["seventy", "siebzig"], 70),
        (&["eighty", "achtzig"], 80),
        (&["ninety", "neunzig"], 90),
    ];
    WORDS.iter().find(|(names, _)| names.contains(&word)).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<(u64, usize)> {
        let words: Vec<String> = text.split(' ').map(str::to_string).collect();
        spelled(&words)
    }

    #[test]
    fn numbers_in_three_languages() {
        for (text, wanted) in [
            ("sixty requests", (60, 1)),
            ("twenty-five metres", (25, 1)),
            ("two hundred and five rows", (205, 4)),
            ("three thousand rows", (3000, 2)),
            ("vingt et un", (21, 3)),
            ("soixante-douze heures", (72, 1)),
            ("quatre-vingt-dix", (90, 1)),
            ("cent vingt", (120, 2)),
            ("fünfundzwanzig", (25, 1)),
            ("dreihundert", (300, 1)),
            ("five and six", (5, 1)),
            ("three four", (3, 1)),
        ] {
            assert_eq!(value(text), Some(wanted), "{text}");
        }
        for text in ["two services", "one of them", "million", "and five", "rows"] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
