//! The pictures of the report, as SVG that needs no script: the hover text is a `title`.

use super::escape;
use crate::report::{Picture, Report, one_line};
use std::fmt::Write;

const WIDTH: f32 = 960.0;
const HEIGHT: f32 = 620.0;

/// Colours of clusters, from Okabe and Ito's palette, which the colour-blind can tell apart.
const COLOURS: usize = 7;

/// The similarity graph.
pub fn graph(report: &Report, out: &mut String) {
    let Some(picture) = report.picture.as_ref().filter(|picture| !picture.nodes.is_empty()) else {
        return;
    };
    let new = picture.edges.iter().filter(|edge| edge.is_new).count();
    let links = picture.edges.iter().filter(|edge| !edge.is_merge).count();
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"graph\"><h2 id=\"graph\">Similarity</h2>\
         <p class=\"legend\">{} entries, {} links, {new} of them new (bold). A colour is a cluster, \
         a ring a proven entry, a dotted line leads to it from its sources. {}</p>\
         <div class=\"wide\"><svg class=\"graph\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" \
         aria-label=\"Graph of similar entries\">",
        picture.nodes.len(),
        links,
        if picture.left_out > 0 {
            format!("{} more entries do not fit.", picture.left_out)
        } else {
            String::new()
        }
    );
    lines(picture, out);
    dots(picture, out);
    out.push_str("</svg></div></section>\n");
}

fn lines(picture: &Picture, out: &mut String) {
    for edge in &picture.edges {
        let (Some(a), Some(b)) = (picture.nodes.get(edge.a), picture.nodes.get(edge.b)) else {
            continue;
        };
        let _ = writeln!(
            out,
            "<line class=\"{}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\">\
             <title>{}</title></line>",
            match edge {
                edge if edge.is_merge => "merge",
                edge if edge.is_new => "new",
                _ => "old",
            },
            a.at.x * WIDTH,
            a.at.y * HEIGHT,
            b.at.x * WIDTH,
            b.at.y * HEIGHT,
            if edge.is_merge {
                "merged into it".to_string()
            } else {
                format!("{:.2}{}", edge.similarity, if edge.is_new { " (new)" } else { "" })
            }
        );
    }
}

fn dots(picture: &Picture, out: &mut String) {
    for node in &picture.nodes {
        let colour =
            node.cluster.map_or("none".into(), |cluster| format!("c{}", cluster % COLOURS));
        let text = escape(&one_line(&node.text, 220));
        let _ = writeln!(
            out,
            "<circle class=\"{colour} {}\" tabindex=\"0\" role=\"img\" aria-label=\"{} ({}): {text}\" \
             cx=\"{:.1}\" cy=\"{:.1}\" r=\"{}\"><title>{} ({})\n{text}\n{}</title></circle>",
            escape(&node.state),
            escape(&node.id),
            escape(&node.state),
            node.at.x * WIDTH,
            node.at.y * HEIGHT,
            if node.state == "proven" || node.state == "routed" { 11 } else { 7 },
            escape(&node.id),
            escape(&node.state),
            escape(&node.project)
        );
    }
}

/// How similar linked pairs are, with the link line.
pub fn histogram(report: &Report, out: &mut String) {
    let Some(picture) = report.picture.as_ref().filter(|picture| !picture.histogram.is_empty())
    else {
        return;
    };
    let low = picture.histogram.first().map_or(0.0, |bar| bar.0).min(picture.line) - 0.04;
    let most = picture.histogram.iter().map(|bar| bar.1).max().unwrap_or(1).max(1);
    let x = |similarity: f32| 40.0 + (similarity - low) / (1.0 - low).max(0.01) * 900.0;
    out.push_str(
        "<section aria-labelledby=\"bars\"><h2 id=\"bars\">How similar the linked pairs are</h2>\
         <div class=\"wide\"><svg class=\"bars\" viewBox=\"0 0 960 220\" role=\"img\" \
         aria-label=\"Histogram of similarities\">\n",
    );
    for (from, count) in &picture.histogram {
        let height = *count as f32 / most as f32 * 160.0;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\">\
             <title>{from:.2}: {count} pairs</title></rect>",
            x(*from),
            180.0 - height,
            (x(*from + 0.02) - x(*from) - 2.0).max(1.0),
        );
    }
    let line = x(picture.line);
    let _ = writeln!(
        out,
        "<line class=\"threshold\" x1=\"{line:.1}\" y1=\"10\" x2=\"{line:.1}\" y2=\"180\"/>\
         <text x=\"{:.1}\" y=\"24\">link line {:.2}</text>\
         <text x=\"40\" y=\"205\">{low:.2}</text><text x=\"915\" y=\"205\">1.00</text>",
        line + 6.0,
        picture.line
    );
    out.push_str("</svg></div></section>\n");
}

/// Who is next to be judged.
pub fn forecast(report: &Report, out: &mut String) {
    let Some(picture) = report.picture.as_ref().filter(|picture| !picture.forecast.is_empty())
    else {
        return;
    };
    out.push_str(
        "<section aria-labelledby=\"ageing\"><h2 id=\"ageing\">Ageing forecast</h2>\
         <p class=\"legend\">Entries that nothing connects to, and how many newer entries their \
         project has; they are looked at once that number reaches <code>age.newer_entries</code>.</p>\
         <div class=\"wide\"><table><thead><tr><th>entry</th><th>newer</th><th>reprieves</th>\
         <th>text</th></tr></thead><tbody>\n",
    );
    for entry in &picture.forecast {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(entry.id.get(..8).unwrap_or(&entry.id)),
            entry.newer,
            entry.reprieves,
            escape(&one_line(&entry.text, 160))
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}
