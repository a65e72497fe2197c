//! A corpus of planted secrets among innocent strings, made here: recall and precision per shape.
//!
//! `cargo test --test suite redaction -- --nocapture` prints the table.

use lifecycle::redact::redact;
use std::collections::BTreeMap;

const VALUES_A_SHAPE: usize = 12;
const INNOCENT: usize = 3000;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

/// A small generator of its own, so that the corpus is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    fn chars(&mut self, alphabet: &str, n: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..n).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }

    fn word(&mut self, n: usize) -> String {
        self.chars(&format!("{LOWER}{UPPER}{DIGITS}"), n)
    }

    fn safe(&mut self, n: usize) -> String {
        self.chars(&format!("{LOWER}{UPPER}{DIGITS}-_"), n)
    }

    fn base64(&mut self, n: usize) -> String {
        self.chars(&format!("{LOWER}{UPPER}{DIGITS}+/"), n)
    }

    fn password(&mut self) -> String {
        let head = self.chars(LOWER, 5);
        let (digits, mark) = (self.chars(DIGITS, 3), self.chars("!#%^*+~", 1));
        format!("{head}{mark}{}{digits}", self.chars(UPPER, 2))
    }

    fn uuid(&mut self) -> String {
        let groups: Vec<String> = [8, 4, 4, 4, 12].iter().map(|n| self.chars(HEX, *n)).collect();
        groups.join("-")
    }
}

/// The line that stands in a text, and the secret in it.
type Planted = (String, String);

/// The planted value of shape `n`, or `None` after the last shape.
fn planted(n: usize, r: &mut Random) -> Option<(&'static str, Planted)> {
    let whole = |name, value: String| (name, (value.clone(), value));
    let within = |name, text: String, value: String| (name, (text.replace("{}", &value), value));
    Some(match n {
        0 => whole(
            "aws access key id",
            format!("AKIA{}", r.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
        ),
        1 => within("aws secret key", "aws_secret_access_key = {}".into(), r.base64(40)),
        2 => whole("github classic", format!("ghp_{}", r.word(36))),
        3 => whole("github fine-grained", format!("github_pat_{}_{}", r.word(22), r.word(59))),
        4 => whole("gitlab", format!("glpat-{}", r.safe(20))),
        5 => whole(
            "slack bot",
            format!("xoxb-{}-{}-{}", r.chars(DIGITS, 12), r.chars(DIGITS, 12), r.word(24)),
        ),
        6 => within(
            "slack webhook",
            format!(
                "https://hooks.slack.com/services/T{}/B{}/{{}}",
                r.chars(UPPER, 8),
                r.chars(UPPER, 8)
            ),
            r.word(24),
        ),
        7 => whole("stripe", format!("sk_live_{}", r.word(24))),
        8 => whole("openai project", format!("sk-proj-{}", r.safe(48))),
        9 => whole("anthropic", format!("sk-ant-api03-{}", r.safe(93))),
        10 => whole("google api", format!("AIza{}", r.safe(35))),
        11 => whole("google oauth", format!("ya29.{}", r.safe(60))),
        12 => whole("jwt", format!("eyJ{}.eyJ{}.{}", r.word(33), r.word(60), r.safe(43))),
        13 => within(
            "private key",
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".into(),
            format!("{}\n{}", r.base64(64), r.base64(40)),
        ),
        14 => {
            within("postgres url", "postgres://app:{}@db.example.org:5432/port".into(), r.word(14))
        }
        15 => within("amqp url", "amqps://svc:{}@mq.example.org/vh".into(), r.safe(16)),
        16 => whole("npm", format!("npm_{}", r.word(36))),
        17 => whole("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", r.safe(70))),
        18 => whole("crates", format!("cio{}", r.word(32))),
        19 => whole("sendgrid", format!("SG.{}.{}", r.safe(22), r.safe(43))),
        20 => whole("twilio", format!("SK{}", r.chars(HEX, 32))),
        21 => whole("mailgun", format!("key-{}", r.chars(HEX, 32))),
        22 => whole("hugging face", format!("hf_{}", r.word(34))),
        23 => whole("digitalocean", format!("dop_v1_{}", r.chars(HEX, 64))),
        24 => whole("telegram", format!("{}:AA{}", r.chars("123456789", 9), r.safe(33))),
        25 => within(
            "azure storage",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};".into(),
            format!("{}==", r.base64(86)),
        ),
        26 => whole("shopify", format!("shpat_{}", r.chars(HEX, 32))),
        27 => whole("databricks", format!("dapi{}", r.chars(HEX, 32))),
        28 => whole("vault", format!("hvs.{}", r.safe(28))),
        29 => within("password in env", "DB_PASSWORD={}".into(), r.password()),
        30 => within("password in yaml", "  password: \"{}\"".into(), r.password()),
        31 => within("password in German", "Das Passwort ist {}".into(), r.password()),
        32 => within("api key assigned", "const apiKey = '{}';".into(), r.word(32)),
        33 => within("client secret", "\"client_secret\": \"{}\"".into(), r.safe(32)),
        34 => within(
            "bearer header",
            "curl -H 'Authorization: Bearer {}' https://api".into(),
            r.safe(40),
        ),
        35 => within("basic header", "Authorization: Basic {}".into(), r.base64(28)),
        36 => within("cookie", "Cookie: {}".into(), format!("connect.sid={}", r.word(32))),
        37 => within("curl user", "curl -u admin:{} https://port.example.org".into(), r.password()),
        38 => within("password flag", "psql --password={} -h db".into(), r.password()),
        39 => whole("groq", format!("gsk_{}", r.word(52))),
        40 => whole(
            "age key",
            format!("AGE-SECRET-KEY-1{}", r.chars("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
        ),
        41 => within("netrc", "machine git.example.org login robin password {}".into(), r.word(16)),
        _ => return None,
    })
}

/// A string that looks like much but hides nothing.
fn innocent(n: usize, r: &mut Random) -> String {
    let (a, b) = (r.chars(LOWER, 6), r.chars(LOWER, 8));
    match n % 40 {
        0 => format!("commit {}", r.chars(HEX, 40)),
        1 => format!("sha256:{}", r.chars(HEX, 64)),
        2 => format!("session {} was resumed", r.uuid()),
        3 => format!("\"integrity\": \"sha512-{}==\"", r.base64(86)),
        4 => format!("the author is in {a}/author.md and docs/{b}.md"),
        5 => format!("https://{a}.example.org:8443/{b}?page={}", r.below(900)),
        6 => format!("{a}@{b}.example.org wrote it"),
        7 => format!("let token = {a}.next_token();"),
        8 => format!("password = get_password({a})"),
        9 => "the password must be rotated every 90 days".to_string(),
        10 => format!("api_key = settings.{a}_api_key"),
        11 => format!("export {}=${{{}}}", a.to_uppercase(), b.to_uppercase()),
        12 => format!("secret: {{{{ .Values.{a}.secretName }}}}"),
        13 => format!("primary key ({a}_id), foreign key {b}_id"),
        14 => format!(
            "v{}.{}.{} released on 2026-0{}-1{}",
            r.below(9),
            r.below(20),
            r.below(30),
            1 + r.below(9),
            r.below(9)
        ),
        15 => format!("ETag: \"{}\"", r.chars(HEX, 32)),
        16 => format!("docker pull {a}/{b}@sha256:{}", r.chars(HEX, 64)),
        17 => format!("tokens: {} in, {} out", r.below(9000), r.below(900)),
        18 => format!("Das Passwort steht im Tresor, nicht in {a}.toml"),
        19 => format!("le mot de passe est dans le coffre de {a}"),
        20 => format!(".btn-{a}-primary-outline-{b}-hover"),
        21 => format!("key-{a}-{b}"),
        22 => format!("trace_id={} span_id={}", r.chars(HEX, 32), r.chars(HEX, 16)),
        23 => format!("requestId: req_{}", r.chars(HEX, 20)),
        24 => format!("toolu_{}", r.word(22)),
        25 => format!("msg_{}", r.word(24)),
        26 => format!("DB_PASSWORD=$({a} read {b})"),
        27 => "password: <your password here>".to_string(),
        28 => format!("fn parse_{a}(token: &str) -> Option<{b}>"),
        29 => format!("if token == Token::{} {{", b),
        30 => {
            format!("at {a}.{b} (node_modules/{a}/dist/index.js:{}:{})", r.below(900), r.below(90))
        }
        31 => format!("ssh-keygen -lf: SHA256:{} {a}@{b} (ED25519)", r.base64(43)),
        32 => format!("auth = {a}Auth::new({b})"),
        33 => format!("author: {a} {b}, authority: port of {a}"),
        34 => format!("{a}-{b}-7d9c6b5f4-x{}", r.chars("bcdfghjklmnpqrstvwxz2456789", 4)),
        35 => format!(
            "10.{}.{}.{} fe80::{}:{}",
            r.below(255),
            r.below(255),
            r.below(255),
            r.chars(HEX, 4),
            r.chars(HEX, 4)
        ),
        36 => format!("cookies: accept the {a} banner first"),
        37 => format!("X-Request-Id: {}", r.uuid()),
        38 => format!("secret_name = \"{a}-{b}-credentials\""),
        _ => format!("mv {a}/{b}.rs src/{a}/{b}_{}.rs", r.below(99)),
    }
}

const FRAMES: &[&str] = &[
    "Remember: {} is what the job uses.",
    "{}",
    "It failed with\n{}\nand then stopped.",
    "We use {} (do not share).",
    "env:\n{}\n",
];

#[test]
fn planted_secrets_are_found_and_innocent_strings_left_alone() {
    let mut r = Random(20_261_130);
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for shape in 0.. {
        if planted(shape, &mut r).is_none() {
            break;
        }
        for _ in 0..VALUES_A_SHAPE {
            let Some((name, (line, secret))) = planted(shape, &mut r) else { break };
            let text = r.pick(FRAMES).replace("{}", &line);
            let (clean, counts) = redact(&text);
            let found = !clean.contains(&secret) && counts.total() > 0;
            let row = table.entry(name).or_default();
            row.0 += usize::from(found);
            row.1 += 1;
            if !found {
                missed.push(format!("{name}: {text}"));
            }
        }
    }
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for n in 0..INNOCENT {
        let text = innocent(n, &mut r);
        for (rule, _) in redact(&text).1.iter() {
            wrong.entry(rule.to_string()).or_default().push(text.clone());
        }
    }
    report(&table, &wrong, &missed);
}

fn report(
    table: &BTreeMap<&str, (usize, usize)>,
    wrong: &BTreeMap<String, Vec<String>>,
    missed: &[String],
) {
    for (name, (found, all)) in table {
        println!("{name:22} {found:3} of {all}");
    }
    let found: usize = table.values().map(|row| row.0).sum();
    let all: usize = table.values().map(|row| row.1).sum();
    let false_alarms: usize = wrong.values().map(Vec::len).sum();
    println!(
        "recall {found} of {all} over {} shapes, {false_alarms} of {INNOCENT} innocent strings touched",
        table.len()
    );
    for (rule, texts) in wrong {
        println!("false alarm by {rule}: {} times, e.g. {}", texts.len(), texts[0]);
    }
    missed.iter().for_each(|text| println!("missed {text}"));
    assert!(table.len() >= 30 && all >= 300);
    assert!(found * 100 >= all * 99, "recall {found} of {all}");
    assert!(false_alarms * 1000 <= INNOCENT, "{false_alarms} false alarms");
}
