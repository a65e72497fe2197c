//! Properties over generated files of every format.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn add(section: &[&str], line: &str) -> LineOp {
    LineOp {
        section: section.iter().map(ToString::to_string).collect(),
        line: line.to_string(),
        change: Change::Add,
    }
}

fn op(section: &[String], line: &str, change: Change) -> LineOp {
    LineOp { section: section.to_vec(), line: line.to_string(), change }
}

fn text(format: Format, base: &str, ops: &[LineOp]) -> String {
    String::from_utf8(render(format, base.as_bytes(), ops).unwrap()).unwrap()
}

#[test]
fn markdown_gets_a_block_at_the_end_of_the_section() {
    let base = "# A\n\n- one\n\n## B\n\ntext\n";
    let after = text(Format::Markdown, base, &[add(&["A"], "new")]);
    assert_eq!(
        after,
        "# A\n\n- one\n\n<!-- lifecycle:begin -->\n- new\n<!-- lifecycle:end -->\n\n## B\n\ntext\n"
    );
}

#[test]
fn an_item_goes_on_below_and_leaves_whole() {
    for eol in ["\n", "\r\n"] {
        let with = |text: &str| text.replace('\n', eol);
        let ours = "# A\n\n- one\n\n<!-- lifecycle:begin -->\n- our fact\n  goes on\n  - nested\n- other\n<!-- lifecycle:end -->\n";
        let withdraw = op(&["A".to_string()], "our fact goes on", Change::Withdraw);
        let after = text(Format::Markdown, &with(ours), &[withdraw]);
        assert_eq!(after, with(&ours.replace("- our fact\n  goes on\n", "")), "{eol:?}");
    }
}

#[test]
fn two_blocks_become_one() {
    let base = "# C\n<!-- lifecycle:begin -->\n- a\n<!-- lifecycle:end -->\nmiddle\n<!-- lifecycle:begin -->\n- stale\n<!-- lifecycle:end -->\ntail\n";
    let after = text(Format::Markdown, base, &[add(&["C"], "new")]);
    assert_eq!(
        after,
        "# C\n<!-- lifecycle:begin -->\n- a\n- new\n<!-- lifecycle:end -->\nmiddle\ntail\n"
    );
}

#[test]
fn toml_gains_lines_only() {
    let base = "# my settings\nmodel = \"m\"   # fast\nnotify = [\n  \"bash\", \"-lc\",   # login\n  \"done\",\n]\n\n[features]\na = true\n\n[tui]\nn = [ 'x' ]";
    let after = text(Format::Toml, base, &[add(&["lifecycle", "notes"], "new \"q\"")]);
    assert!(after.contains("]\n# lifecycle:begin\nlifecycle.notes = [\n  \"new \\\"q\\\"\",\n]\n# lifecycle:end\n\n[features]"), "{after}");
    let grown = text(Format::Toml, base, &[add(&["notify"], "z")]);
    assert_eq!(grown, base.replace("  \"done\",\n", "  \"done\",\n  \"z\",\n"));
    let in_table = text(Format::Toml, base, &[add(&["features", "notes"], "z")]);
    assert!(in_table.contains("a = true\n# lifecycle:begin\nnotes = ["), "{in_table}");
}

#[test]
fn yaml_and_json_keep_their_looks() {
    let yaml = "# top\nrules:\n  - one   # first\n  - two\n\nother: {a: 1}\n";
    assert_eq!(
        text(Format::Yaml, yaml, &[add(&["rules"], "x: y")]),
        yaml.replace("  - two\n", "  - two\n  - \"x: y\"\n")
    );
    let json = "{\n    \"a\": 1,\n    \"rules\": [\n        \"one\"\n    ]\n}";
    assert_eq!(
        text(Format::Json, json, &[add(&["rules"], "x")]),
        json.replace("\"one\"\n", "\"one\",\n        \"x\"\n")
    );
}

#[test]
fn a_key_that_is_missing_is_made_and_goes_with_its_last_line() {
    let json = "{\n  \"a\": 1\n}\n";
    let toml = "d = { e = 1 }\nf = {}\n";
    for (format, base, key, wanted) in [
        (Format::Json, json, "rules", "{\n  \"a\": 1,\n  \"rules\" :  [\n    \"x\"\n  ]\n}\n"),
        (Format::Json, "{}", "rules", "{\"rules\" :  [\"x\"]}"),
        (Format::Toml, toml, "d.rules", "d = { e = 1, rules  =  [\"x\"] }\nf = {}\n"),
        (Format::Toml, toml, "f.rules", "d = { e = 1 }\nf = { rules  =  [\"x\"]}\n"),
    ] {
        let path: Vec<&str> = key.split('.').collect();
        let after = text(format, base, &[add(&path, "x")]);
        assert_eq!(after, wanted);
        let grown = text(format, &after, &[add(&path, "y")]);
        let both = ["x", "y"].map(|line| LineOp { change: Change::Withdraw, ..add(&path, line) });
        assert_eq!(text(format, &grown, &both), base);
    }
    let own = "{\"rules\": [\"x\"]}";
    let out = LineOp { change: Change::Withdraw, ..add(&["rules"], "x") };
    assert_eq!(text(Format::Json, own, &[out]), "{\"rules\": []}");
}

#[test]
fn what_does_not_parse_is_refused() {
    for (format, base) in [
        (Format::Toml, "model = \"gpt-5\"\n[features\nweb_search = true\n"),
        (Format::Yaml, "rules:\n  - keep: yes\n   - broken indent\n\tand a tab\n"),
        (Format::Json, "{ \"hooks\": { \"Stop\": [ { \"hooks\": [ ] } ], } // trailing\n"),
    ] {
        let error = render(format, base.as_bytes(), &[add(&["rules"], "x")]).unwrap_err();
        assert!(matches!(error, TargetError::Unparseable { .. }), "{error}");
    }
    for base in [
        "# A\n<!-- lifecycle:begin -->\n- old fact\n\nMy own text below, never delete.\n",
        "# B\n<!-- lifecycle:end -->\ntext\n<!-- lifecycle:begin -->\nmy text\n",
        "# E\n- list\n  <!-- lifecycle:begin -->\n  - x\n  <!-- lifecycle:end -->\n- more\n",
    ] {
        let error = render(Format::Markdown, base.as_bytes(), &[add(&["A"], "x")]).unwrap_err();
        assert!(matches!(error, TargetError::Markers { .. }), "{error}");
    }
    let fence = "# D\n```\n<!-- lifecycle:begin -->\nexample\n<!-- lifecycle:end -->\n```\ntail\n";
    assert!(text(Format::Markdown, fence, &[add(&["D"], "x")]).starts_with(fence));
}

/// What happens to a file, as indexes into its places and lines.
#[derive(Clone, Debug)]
enum Act {
    Add(usize, usize),
    Replace(usize, usize),
    Withdraw(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0..6usize, 0..8usize).prop_map(|(at, line)| Act::Add(at, line)),
        1 => (0..8usize, 0..8usize).prop_map(|(old, new)| Act::Replace(old, new)),
        2 => (0..8usize).prop_map(Act::Withdraw),
    ];
    proptest::collection::vec(act, 1..14)
}

const LINES: [&str; 8] = [
    "The port is 8080",
    "use `pnpm`, never npm",
    "a \"quoted\" word",
    "k: v # not a comment",
    "[brackets], {braces}",
    "umlauts äöü ✓",
    "back\\slash",
    "'single'",
];

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("# A"),
        Just("## B"),
        Just("### C `x`"),
        Just("Title\n====="),
        Just("text"),
        Just("- item"),
        Just("  - nested"),
        Just(""),
        Just(""),
        Just("```\n# no heading\n```"),
        Just("> # quoted"),
        Just("1. first"),
        Just("    code"),
        Just("<div>"),
        Just("</div>"),
        Just("@AGENTS.md"),
        Just("| a | b |\n|---|---|\n| 1 | 2 |"),
        Just("```"),
        Just("<!-- note -->"),
        Just("---"),
        Just("[x]: http://e"),
        Just("   # indented"),
        Just("\t"),
        Just("   "),
        Just("<!--"),
    ];
    let front = prop_oneof![3 => Just(""), 1 => Just("---\npaths:\n  - \"src/**\"\n---\n"), 1 => Just("\u{feff}")];
    (front, proptest::collection::vec(piece, 0..12), any::<bool>(), any::<bool>()).prop_map(
        |(front, pieces, crlf, final_newline)| {
            let mut text = format!("{front}{}", pieces.join("\n"));
            if final_newline && !pieces.is_empty() {
                text.push('\n');
            }
            if crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// Lines before, the list, lines after; with either line end, and with or without a final one.
fn document(
    head: impl Strategy<Value = Vec<&'static str>>,
    list: impl Strategy<Value = &'static str>,
    tail: impl Strategy<Value = Vec<&'static str>>,
) -> impl Strategy<Value = String> {
    (head, list, tail, any::<bool>(), any::<bool>()).prop_map(|(head, list, tail, crlf, end)| {
        let mut text = [head, vec![list], tail].concat().join("\n");
        if end {
            text.push('\n')
        }
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

fn toml() -> impl Strategy<Value = String> {
    let head = proptest::sample::subsequence(
        vec![
            "# comment",
            "",
            "a = 1  # one",
            "b.c = 'x'",
            "m = \"\"\"\n[not.a.header]\n\"\"\"",
            "d = { e = [1, 2] }",
            "f = {}",
            "t = 2026-01-01",
        ],
        0..8,
    );
    let list = prop_oneof![
        Just(""),
        Just("notes = []"),
        Just("notes = [ ]"),
        Just("notes = [\n]"),
        Just("notes = [ \"own\" ]"),
        Just("notes = [\"own\", 'two']"),
        Just("notes = [\n  \"own\",  # mine\n  \"two\",\n]"),
        Just("notes = [\n    \"own\",\n    \"two\" # last\n]"),
        Just("notes = [\"own\",]"),
    ];
    let tail = proptest::sample::subsequence(
        vec![
            "",
            "# about t",
            "[t]",
            "x = 1",
            "[t.u]",
            "notes = [\"other\"]",
            "[[aot]]",
            "y = 2",
            "# end",
        ],
        0..9,
    );
    document(head, list, tail)
}

fn yaml() -> impl Strategy<Value = String> {
    let head = proptest::sample::subsequence(
        vec![
            "---",
            "# comment",
            "",
            "a: 1  # one",
            "s: |\n  notes:\n  - text",
            "m:\n  n: [1, 2]",
            "\"q\": 'x'",
        ],
        0..7,
    );
    let list = prop_oneof![
        Just(""),
        Just("notes: []"),
        Just("notes:"),
        Just("notes:   # mine"),
        Just("notes: [ own, 'two' ]"),
        Just("notes:\n  - own\n  - two  # second"),
        Just("notes:\n- own\n- two"),
        Just("notes:\n    - own\n\n    # between\n    - two: x\n      y: z"),
        Just("notes: [\n  own,\n  two\n]"),
        Just("notes: [\n  own, # c\n  two,\n]"),
    ];
    let tail = proptest::sample::subsequence(
        vec!["", "# about", "z: 1", "list:\n  - q", "deep:\n  er:\n    x: 1", "# end"],
        0..6,
    );
    document(head, list, tail)
}

fn json() -> impl Strategy<Value = String> {
    let list = prop_oneof![
        Just("[]"),
        Just("[ ]"),
        Just("[\n  ]"),
        Just("[\"own\"]"),
        Just("[ \"own\", 2 ]"),
        Just("[\n    \"own\",\n    {\"a\": [1]}\n  ]"),
        Just("[\"own\",\"two\"]"),
    ];
    (list, any::<bool>(), any::<bool>()).prop_map(|(list, crlf, end)| {
        let text = format!(
            "{{\n  \"a, b\": \"]\\\"[\",\n  \"notes\": {list},\n  \"z\": {{\"notes\": 1}},\n  \"e\": {{}}\n}}{}",
            if end { "\n" } else { "" }
        );
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<!-- lifecycle:end -->"),
        Just("<!-- lifecycle:begin -->"),
        Just("# lifecycle:end"),
        Just("-->"),
        Just("---"),
        Just("\n"),
        Just("\r\n# H"),
        Just("```"),
        Just("~~~"),
        Just("@~/.ssh/id_rsa"),
        Just("\"]"),
        Just("'''"),
        Just("\"\"\""),
        Just("\\"),
        Just("${HOME}"),
        Just("[x]: http://e"),
        Just("- item"),
        Just("> quote"),
        Just("key: &a *a !!tag"),
        Just("\u{0}\u{1b}[2J"),
        Just("\u{202e}\u{2028}\u{feff}"),
        Just("own"),
        Just("word "),
    ];
    proptest::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn short_json() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("{}"),
        Just("{ }\n"),
        Just("{\n}\n"),
        Just("{\"a\":1}"),
        Just("{ \"a\": [1, 2] }"),
        Just("\u{feff}{\r\n\t\"a\": {}\r\n}\r\n"),
        Just("[]"),
    ]
}

/// Performs `acts`; after each the file without our lines must be the original, byte for byte.
fn run(format: Format, base: &str, key: &[String], acts: &[Act]) -> Result<(), TestCaseError> {
    let Ok(places) = survey(format, base.as_bytes(), key) else { return Ok(()) };
    let places: Vec<Vec<String>> = places.into_iter().map(|section| section.path).collect();
    let (mut now, mut ours): (Vec<u8>, Vec<usize>) = (base.as_bytes().to_vec(), Vec::new());
    for act in acts {
        let (operation, mut next) = match act {
            Act::Add(at, line) => {
                (op(&places[at % places.len()], LINES[*line], Change::Add), with(&ours, *line))
            }
            Act::Replace(old, new) if ours.contains(old) && !ours.contains(new) => {
                let change = Change::Replace { old: LINES[*old].to_string() };
                (op(&places[0], LINES[*new], change), with(&without(&ours, *old), *new))
            }
            Act::Replace(..) => continue,
            Act::Withdraw(line) => {
                (op(&places[0], LINES[*line], Change::Withdraw), without(&ours, *line))
            }
        };
        if let Act::Add(_, line) = act
            && ours.contains(line)
        {
            continue;
        }
        let Ok(after) = render(format, &now, std::slice::from_ref(&operation)) else { continue };
        prop_assert_eq!(
            &render(format, &after, std::slice::from_ref(&operation)).unwrap_or(after.clone()),
            &after,
            "not idempotent: {:?}",
            operation
        );
        now = after;
        std::mem::swap(&mut ours, &mut next);
        let lines: Vec<String> = ours.iter().map(|line| LINES[*line].to_string()).collect();
        let stripped = strip(format, &now, key, &lines).unwrap();
        prop_assert_eq!(
            String::from_utf8(stripped).unwrap(),
            base,
            "after {:?} in {:?}",
            operation,
            String::from_utf8_lossy(&now)
        );
        let standing: Vec<String> = survey(format, &now, key)
            .unwrap()
            .into_iter()
            .flat_map(|section| section.items)
            .map(|item| item.text)
            .collect();
        for line in &lines {
            prop_assert!(
                standing.contains(line),
                "{line} is missing in {:?}",
                String::from_utf8_lossy(&now)
            );
        }
    }
    for line in ours {
        now = render(format, &now, &[op(&places[0], LINES[line], Change::Withdraw)]).unwrap();
    }
    prop_assert_eq!(String::from_utf8(now).unwrap(), base);
    Ok(())
}

fn with(ours: &[usize], line: usize) -> Vec<usize> {
    let mut next = without(ours, line);
    next.push(line);
    next
}

fn without(ours: &[usize], line: usize) -> Vec<usize> {
    ours.iter().copied().filter(|other| *other != line).collect()
}

fn key(parts: &[&str]) -> Vec<String> {
    parts.iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn markdown_outside_our_block_stays(base in markdown(), acts in acts()) {
        run(Format::Markdown, &base, &[], &acts)?;
    }

    #[test]
    fn toml_outside_our_lines_stays(base in toml(), deep in 0..7usize, acts in acts()) {
        let keys = [key(&["notes"]), key(&["t", "notes"]), key(&["new", "deep", "er"]), key(&["t", "u", "notes"]),
            key(&["d", "notes"]), key(&["f", "new", "notes"]), key(&["d", "e"])];
        run(Format::Toml, &base, &keys[deep], &acts)?;
    }

    #[test]
    fn yaml_outside_our_lines_stays(base in yaml(), deep in 0..4usize, acts in acts()) {
        let keys = [key(&["notes"]), key(&["deep", "er", "notes"]), key(&["new", "deep"]), key(&["m", "notes"])];
        run(Format::Yaml, &base, &keys[deep], &acts)?;
    }

    #[test]
    fn json_outside_our_lines_stays(base in json(), deep in 0..5usize, acts in acts()) {
        let keys = [key(&["notes"]), key(&["z", "notes"]), key(&["z", "new"]), key(&["new", "deep", "er"]), key(&["e", "new"])];
        run(Format::Json, &base, &keys[deep], &acts)?;
    }

    /// Whatever a text holds, it is one value in the list or one item in the block, and no more.
    #[test]
    fn no_text_breaks_out_of_its_place(text in hostile()) {
        for (format, base, key) in [
            (Format::Markdown, "---\npaths: x\n---\n# A\n\n- one\n", "A"),
            (Format::Toml, "notes = [\"own\"]\n[t]\nx = 1\n", "notes"),
            (Format::Yaml, "notes:\n  - own\nz: 1\n", "notes"),
            (Format::Json, "{\"notes\": [\"own\"], \"z\": 1}", "notes"),
        ] {
            let markdown = format == Format::Markdown;
            let line = if markdown { item_line(&text) } else { value_line(&text) };
            if line.is_empty() || line == "own" {
                continue;
            }
            let after = render(format, base.as_bytes(), &[add(&[key], &line)]).unwrap();
            let keys = vec![key.to_string()];
            let sections = survey(format, &after, &keys).unwrap();
            let items: Vec<&Item> = sections.iter().flat_map(|section| &section.items).collect();
            prop_assert_eq!(&items[items.len() - 1].text, &line);
            prop_assert_eq!(items.len(), 2 - usize::from(markdown));
            prop_assert_eq!(sections.len(), survey(format, base.as_bytes(), &keys).unwrap().len());
            let stripped = strip(format, &after, &keys, std::slice::from_ref(&line)).unwrap();
            prop_assert_eq!(String::from_utf8(stripped).unwrap(), base);
            let acts = |ch: char| ch != '\n' && ch.is_control() || ch == '\u{202e}';
            prop_assert!(!String::from_utf8(after).unwrap().contains(acts));
        }
    }

    #[test]
    fn short_json_outside_our_lines_stays(base in short_json(), deep in 0..2usize, acts in acts()) {
        let keys = [key(&["notes"]), key(&["new", "deep"])];
        run(Format::Json, base, &keys[deep], &acts)?;
    }
}
