#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

#[test]
fn every_rule_compiles_and_each_name_is_used_once() {
    let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    (0..RULES.len()).for_each(|at| assert!(compiled(at).captures_len() > 0));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "session 6f1c2a10-0000-4000-8000-00000000000a in author.md",
        "token: 6f1c2a10-0000-4000-8000-00000000000a",
        "password: must be rotated every 90 days",
        "the password is stored in the vault",
        "api_key = settings.api_key_v2",
        "token = lexer.next_token()",
        "set DB_PASSWORD=$DB_PASSWORD or ${SECRET}",
        "postgres://user:<password>@localhost/db and https://example.org:8080/a@b",
        "the secret is in docs/secret-handling.md",
        "password=changeme",
        "key: value, primary key: user_id",
        "skip-navigation-link-of-the-page",
        "Remember: the token bucket refills 100 tokens a second",
    ] {
        assert_eq!(redact(text), (text.to_string(), Counts::default()));
    }
}

#[test]
fn secrets_leave_and_are_counted() {
    let (text, counts) = redact(
        "DB_PASSWORD=hunter22! and postgres://app:s3cr3t@db/x, header Authorization: Bearer abcdefgh12345678",
    );
    assert_eq!(
        text,
        "DB_PASSWORD=[redacted:password] and postgres://app:[redacted:url-password]@db/x, \
         header Authorization: Bearer [redacted:authorization]"
    );
    assert_eq!(counts.to_string(), "authorization 1, password 1, url-password 1");
}

#[test]
fn a_word_with_a_digit_is_a_password_where_one_is_named() {
    for text in [
        "password=marlinharbour7",
        "password: Winterfell7",
        "DB_PASSWORD=correcthorsebattery9",
        "the password is hunter2",
        "client_secret=tidewater2026x",
    ] {
        assert_eq!(redact(text).1.total(), 1, "{text}");
    }
    for text in ["password: field_2", "password = oldPassword2", "pwd: /srv/app1"] {
        assert_eq!(redact(text).0, text);
    }
}

#[test]
fn a_user_can_add_a_pattern() {
    let patterns = BTreeMap::from([("badge".to_string(), r"badge (?P<v>\d{6})".to_string())]);
    let redactor = Redactor::new(&patterns).unwrap();
    assert_eq!(redactor.redact("badge 123456").0, "badge [redacted:badge]");
    assert!(Redactor::new(&BTreeMap::from([("x".to_string(), "(".to_string())])).is_err());
}

proptest! {
    #[test]
    fn any_text_is_survived_and_once_is_enough(text in any::<String>(), more in "[a-z=:\"' -]{0,40}") {
        for text in [text, more] {
            let (once, _) = redact(&text);
            prop_assert_eq!(redact(&once), (once.clone(), Counts::default()));
        }
    }
}
