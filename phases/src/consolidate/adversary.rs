//! Merges that read well and are wrong: each must be refused for its reason, and the faithful ones
//! beside them taken. Every line here got through, or was wrongly refused, at some time.

use super::tests::{cluster, judge, refused_for};

/// Notes, a title, faithful merges, and false ones with the gate that must stop them.
struct Attack {
    notes: &'static [&'static str],
    title: &'static str,
    good: &'static [&'static str],
    bad: &'static [(&'static str, &'static str)],
}

const ATTACKS: &[Attack] = &[
    // Numbers in words.
    Attack {
        notes: &[
            "The importer retries at most 3 times on a timeout.",
            "The importer waits 60 seconds between retries.",
            "The importer stores rows in batches of 25.",
        ],
        title: "Importer retries",
        good: &[
            "The importer retries at most three times on a timeout and waits sixty seconds between retries; rows are stored in batches of twenty-five.",
        ],
        bad: &[
            (
                "The importer retries at most four times on a timeout and waits 60 seconds between retries; rows are stored in batches of 25.",
                "invented_fact",
            ),
            (
                "The importer retries at most 3 times on a timeout and waits ninety seconds between retries; rows are stored in batches of 25.",
                "invented_fact",
            ),
            (
                "The importer retries at most 3 times on a timeout and waits 60 seconds between retries; rows are stored in batches of fifty-two.",
                "invented_fact",
            ),
            (
                "The importer retries at most two times on a timeout and waits 60 seconds between retries; rows are stored in batches of 25.",
                "swapped_value",
            ),
            (
                "The importer retries at least 3 times on a timeout and waits 60 seconds between retries; rows are stored in batches of 25.",
                "bound_changed",
            ),
            (
                "The importer retries at most 3 times on a timeout and waits 60 seconds between retries; rows are stored in batches of 25, which doubled the speed.",
                "invented_fact",
            ),
            (
                "The importer retries at most 3 times on a timeout and waits 60 seconds between retries; rows are stored in batches of 25. This is common practice in software, especially when dealing with complex logic and performance.",
                "unsupported",
            ),
        ],
    },
    // Units.
    Attack {
        notes: &[
            "The worker backs off 200 ms after a failed call.",
            "The worker cache holds 64 MB.",
            "The worker plan costs $5 a month.",
        ],
        title: "Worker limits",
        good: &[
            "The worker backs off 200 ms after a failed call, its cache holds 64 MB and its plan costs $5 a month.",
        ],
        bad: &[
            (
                "The worker backs off 200 s after a failed call, its cache holds 64 MB and its plan costs $5 a month.",
                "invented_fact",
            ),
            (
                "The worker backs off 200 ms after a failed call, its cache holds 64 GB and its plan costs $5 a month.",
                "invented_fact",
            ),
            (
                "The worker backs off 200 ms after a failed call, its cache holds 64 MB and its plan costs €5 a month.",
                "invented_fact",
            ),
            (
                "The worker backs off 200 ms after a failed call, its cache holds 64 MB and its plan costs 5 % a month.",
                "invented_fact",
            ),
            (
                "The worker backs off 0.2 s after a failed call, its cache holds 64 MB and its plan costs $5 a month.",
                "invented_fact",
            ),
        ],
    },
    Attack {
        notes: &[
            "busy_timeout=5000 is set on every connection.",
            "WAL mode is enabled on every connection.",
            "The nightly import takes 12 to 24 minutes.",
        ],
        title: "Connections and import",
        good: &[
            "busy_timeout=5000 is set and WAL mode enabled on every connection; the nightly import takes 12 minutes to 24 minutes.",
        ],
        bad: &[
            (
                "busy_timeout is 5000 hours and WAL mode is enabled on every connection; the nightly import takes 12 to 24 minutes.",
                "invented_fact",
            ),
            (
                "busy_timeout=5000 is set and WAL mode disabled on every connection; the nightly import takes 12 to 24 minutes.",
                "reversed",
            ),
        ],
    },
    // Versions and hashes.
    Attack {
        notes: &[
            "CI builds with rustc 1.90.1 since commit 4be19d2.",
            "The cache key holds rustc 1.90.1 and the lock file.",
            "Node v18.2 runs the end-to-end tests.",
        ],
        title: "CI toolchain",
        good: &[
            "CI builds with rustc 1.90.1 since commit 4be19d2, which the cache key holds beside the lock file; Node v18.2 runs the end-to-end tests.",
        ],
        bad: &[
            (
                "CI builds with rustc 1.90 since commit 4be19d2, which the cache key holds beside the lock file; Node v18.2 runs the end-to-end tests.",
                "invented_fact",
            ),
            (
                "CI builds with rustc 1.91.1 since commit 4be19d2, which the cache key holds beside the lock file; Node v18.2 runs the end-to-end tests.",
                "invented_fact",
            ),
            (
                "CI builds with rustc 1.90.1 since commit 4be19d3, which the cache key holds beside the lock file; Node v18.2 runs the end-to-end tests.",
                "invented_fact",
            ),
            (
                "CI builds with rustc 1.90.1 since commit 4be19d2, which the cache key holds beside the lock file; Node v18 runs the end-to-end tests.",
                "invented_fact",
            ),
            (
                "CI builds with rustc 1.90.1 since commit 4be19d2, which the cache key holds beside the lock file; Node v18.2 runs the end-to-end tests. Jenkins is the runner.",
                "invented_fact",
            ),
        ],
    },
    // Values and names that change places.
    Attack {
        notes: &[
            "Access token lifetime is 15 minutes, refresh token lifetime is 30 minutes.",
            "The token cookie is set by api-1 on port 8080, the session cookie by api-2 on port 8081.",
            "Ines Falk reviews the token code, Jonas Weber deploys the auth service.",
        ],
        title: "Token lifetimes",
        good: &[
            "Access token lifetime is 15 minutes and refresh token lifetime is 30 minutes. The token cookie is set by api-1 on port 8080, the session cookie by api-2 on port 8081. Ines Falk reviews the token code, Jonas Weber deploys the auth service.",
        ],
        bad: &[
            (
                "Access token lifetime is 30 minutes and refresh token lifetime is 15 minutes. The token cookie is set by api-1 on port 8080, the session cookie by api-2 on port 8081. Ines Falk reviews the token code, Jonas Weber deploys the auth service.",
                "swapped_value",
            ),
            (
                "Access token lifetime is 15 minutes and refresh token lifetime is 30 minutes. The token cookie is set by api-1 on port 8081, the session cookie by api-2 on port 8080. Ines Falk reviews the token code, Jonas Weber deploys the auth service.",
                "swapped_value",
            ),
            (
                "Access token lifetime is 15 minutes and refresh token lifetime is 30 minutes. The token cookie is set by api-1 on port 8080, the session cookie by api-2 on port 8081. Jonas Weber reviews the token code, Ines Falk deploys the auth service.",
                "swapped_value",
            ),
        ],
    },
    Attack {
        notes: &[
            "The upload queue keeps 500 jobs.",
            "A failed upload makes 3 attempts.",
            "The upload worker writes to uploads/tmp first.",
        ],
        title: "Upload queue",
        good: &[
            "The upload queue keeps 500 jobs; a failed upload makes 3 attempts; the worker writes to uploads/tmp first.",
        ],
        bad: &[
            (
                "The upload queue keeps 3 jobs; a failed upload makes 500 attempts; the worker writes to uploads/tmp first.",
                "swapped_value",
            ),
            (
                "The upload queue keeps 500 jobs; a failed upload makes 3 attempts; the worker writes to uploads/tmp last.",
                "reversed",
            ),
        ],
    },
    // Negation, English.
    Attack {
        notes: &[
            "Do not retry on 409: the provider is still working on it.",
            "Retry only on 502 and on timeouts.",
            "The retry budget is reset at midnight.",
        ],
        title: "Retry rules",
        good: &[
            "Never retry on 409, the provider is still working on it. Retry only on 502 and on timeouts. The retry budget is reset at midnight.",
            "On 409, don’t retry: the provider is still working on it. Retry only on 502 and on timeouts. The retry budget is reset at midnight.",
        ],
        bad: &[
            (
                "Retry on 409, since the provider is still working on it. Retry only on 502 and on timeouts. The retry budget is reset at midnight.",
                "negation_lost",
            ),
            (
                "Retry on 409, the provider does not answer yet. Retry only on 502 and on timeouts. The retry budget is reset at midnight.",
                "negation_lost",
            ),
            (
                "Retry on 409 but not on 502. Retry on timeouts. The provider is still working on it. The retry budget is reset at midnight.",
                "negation_lost",
            ),
            (
                "Never retry on 409, the provider is still working on it. Retry on 502 and on timeouts. The retry budget is reset at midnight.",
                "negation_lost",
            ),
            (
                "Never retry on 409, the provider is still working on it. Retry only on 502 and on timeouts. The retry budget is not reset at midnight.",
                "negation_added",
            ),
        ],
    },
    // Negation, German.
    Attack {
        notes: &[
            "Der Export schreibt keine leeren Dateien in den Ordner ausgabe.",
            "Der Import darf niemals ohne Sperre laufen.",
            "Der Export läuft nach dem Import um 4 Uhr.",
        ],
        title: "Export und Import",
        good: &[
            "Der Export schreibt keine leeren Dateien in den Ordner ausgabe. Der Import darf niemals ohne Sperre laufen. Der Export läuft nach dem Import um 4 Uhr.",
        ],
        bad: &[
            (
                "Der Export schreibt leere Dateien in den Ordner ausgabe. Der Import darf niemals ohne Sperre laufen. Der Export läuft nach dem Import um 4 Uhr.",
                "negation_lost",
            ),
            (
                "Der Export schreibt keine leeren Dateien in den Ordner ausgabe. Der Import darf mit Sperre laufen. Der Export läuft vor dem Import um 4 Uhr.",
                "reversed",
            ),
            (
                "Der Export schreibt keine leeren Dateien in den Ordner ausgabe. Der Import darf niemals ohne Sperre laufen. Der Export läuft nach dem Import um fünf Uhr.",
                "invented_fact",
            ),
        ],
    },
    // Negation, French, with both apostrophes.
    Attack {
        notes: &[
            "Le service facture n’est pas redémarré après une erreur 409.",
            "Le service facture garde les clés pendant 24 heures.",
            "L'index idx_date n'est plus utilisé par le service facture.",
        ],
        title: "Service facture",
        good: &[
            "Le service facture n'est pas redémarré après une erreur 409 et garde les clés pendant 24 heures. L'index idx_date n'est plus utilisé par le service facture.",
        ],
        bad: &[
            (
                "Le service facture est redémarré après une erreur 409 et garde les clés pendant 24 heures. L'index idx_date n'est plus utilisé par le service facture.",
                "negation_lost",
            ),
            (
                "Le service facture n'est pas redémarré après une erreur 409 et garde les clés pendant 24 heures. L'index idx_date est utilisé par le service facture.",
                "negation_lost",
            ),
            (
                "Le service facture n'est pas redémarré après une erreur 409 et garde les clés pendant vingt-cinq heures. L'index idx_date n'est plus utilisé par le service facture.",
                "invented_fact",
            ),
            (
                "Le service facture n'est pas redémarré avant une erreur 409 et garde les clés pendant 24 heures. L'index idx_date n'est plus utilisé par le service facture.",
                "reversed",
            ),
        ],
    },
    // Stale values.
    Attack {
        notes: &[
            "2026-05-01 The API rate limit is 60 requests per minute per key.",
            "2026-06-15 The API rate limit was raised to 120 requests per minute per key.",
            "2026-06-20 The API rate limit is returned in X-RateLimit-Remaining.",
        ],
        title: "API rate limit",
        good: &[
            "The API rate limit is 120 requests per minute per key and is returned in X-RateLimit-Remaining.",
            "The API rate limit was raised from 60 to 120 requests per minute per key; it is returned in X-RateLimit-Remaining.",
            "The API rate limit is 120 (previously 60) requests per minute per key and is returned in X-RateLimit-Remaining.",
        ],
        bad: &[
            (
                "The API rate limit is 60 requests per minute per key and is returned in X-RateLimit-Remaining.",
                "stale_value",
            ),
            (
                "The API rate limit is sixty requests per minute per key and is returned in X-RateLimit-Remaining.",
                "stale_value",
            ),
            (
                "The API rate limit was 120 and is 60 requests per minute per key; it is returned in X-RateLimit-Remaining.",
                "stale_value",
            ),
            (
                "The API rate limit is 60 requests per minute from all keys, once 120; it is returned in X-RateLimit-Remaining.",
                "stale_value",
            ),
        ],
    },
];

#[test]
fn e3_e5_false_merges_are_refused_and_faithful_ones_taken() {
    let mut wrong = Vec::new();
    for attack in ATTACKS {
        let notes = cluster(attack.notes);
        for good in attack.good {
            let decision = judge(&notes, attack.title, good);
            if decision.drafts.len() != 1 {
                wrong.push(format!("REFUSED {good}\n   {:?}", decision.rejection));
            }
        }
        for (bad, gate) in attack.bad {
            let decision = judge(&notes, attack.title, bad);
            if !decision.drafts.is_empty() || !decision.measures.refused.contains(gate) {
                wrong.push(format!("{gate} MISSED {bad}\n   {:?}", decision.measures.refused));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn e3_a_source_passes_its_own_gates_word_for_word() {
    for attack in ATTACKS {
        // Values that a newer note replaces are another matter.
        if attack.notes[0].starts_with("2026") {
            continue;
        }
        let text = attack.notes.join(" ");
        let decision = judge(&cluster(attack.notes), attack.title, &text);
        assert_eq!(decision.drafts.len(), 1, "{text}: {:?}", decision.rejection);
    }
}

#[test]
fn e2_a_title_may_not_invent_either() {
    let notes = cluster(ATTACKS[0].notes);
    let decision = judge(&notes, "Importer retries 7 times", ATTACKS[0].good[0]);
    refused_for(&decision, "invented_fact");
}
