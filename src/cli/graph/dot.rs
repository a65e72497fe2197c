//! The graph in the language of Graphviz.

use super::Picture;
use crate::cli::short_id;
use std::fmt::Write;

/// One subgraph a group; isolated entries outside.
pub(super) fn draw(picture: &Picture) -> String {
    let items = picture.items();
    let mut out = String::from("graph lifecycle {\n  node [shape=box, fontsize=10];\n");
    for (number, (kind, members)) in picture.groups().into_iter().enumerate() {
        let grouped = kind != "isolated";
        if grouped {
            let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quote(kind));
        }
        for item in members.iter().filter_map(|id| items.get(id)) {
            let label = format!("{} {}", short_id(&item.id), item.label);
            let (id, label) = (quote(item.id.as_str()), quote(&label));
            let _ = writeln!(out, "    {id} [label={label}, tooltip={}];", quote(item.state));
        }
        if grouped {
            out.push_str("  }\n");
        }
    }
    for link in &picture.links {
        let (a, b) = (quote(link.a.as_str()), quote(link.b.as_str()));
        let style = if link.differing.is_some() { ", style=dashed" } else { "" };
        let _ = writeln!(out, "  {a} -- {b} [label=\"{:.2}\"{style}];", link.similarity);
    }
    out.push_str("}\n");
    out
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(quote(r#"say "hi" \ bye"#), r#""say \"hi\" \\ bye""#);
    }
}
