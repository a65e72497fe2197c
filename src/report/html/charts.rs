//! The pictures of the report, as SVG that needs no script: the hover text is a `title`.

use super::escape;
use crate::report::{Picture, Report, one_line};
use crate::tick::Similarities;
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

/// How similar each new entry is to its nearest neighbour, with the link line: what stands right of
/// it was linked.
pub fn histogram(report: &Report, out: &mut String) {
    let Some(picture) = report.picture.as_ref().filter(|picture| !picture.nearest.is_empty())
    else {
        return;
    };
    let bars: Vec<(f32, u32)> = picture.nearest.bars().collect();
    let first = bars.iter().find(|(_, count)| *count > 0).map_or(0.0, |bar| bar.0);
    let low = (first.min(picture.line) - 0.06).max(0.0);
    let most = bars.iter().map(|bar| bar.1).max().unwrap_or(1).max(1);
    let all: u32 = bars.iter().map(|bar| bar.1).sum();
    let x = |similarity: f32| 40.0 + (similarity - low) / (1.0 - low).max(0.01) * 900.0;
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"bars\"><h2 id=\"bars\">How near the new entries are</h2>\
         <p class=\"legend\">For each of {all} new entries the similarity of its nearest \
         neighbour. Right of the line pairs are linked; many bars just left of it are a reason to \
         lower <code>connect.link_similarity</code>, see the tuning page.</p>\
         <div class=\"wide\"><svg class=\"bars\" viewBox=\"0 0 960 220\" role=\"img\" \
         aria-label=\"Histogram of the similarity of the nearest neighbour of {all} new entries\">",
    );
    for (from, count) in bars.iter().filter(|(from, count)| *count > 0 && *from >= low - 1e-6) {
        let height = *count as f32 / most as f32 * 150.0;
        let side =
            if *from + Similarities::WIDTH <= picture.line + 1e-6 { "below" } else { "above" };
        let _ = writeln!(
            out,
            "<rect class=\"{side}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{height:.1}\"><title>{from:.2} to {:.2}: {count} entries</title></rect>",
            x(*from) + 1.0,
            180.0 - height,
            (x(*from + Similarities::WIDTH) - x(*from) - 2.0).max(1.0),
            from + Similarities::WIDTH
        );
    }
    axis(&x, low, picture.line, out);
    out.push_str("</svg></div></section>\n");
}

/// The threshold, and every tenth.
fn axis(x: &impl Fn(f32) -> f32, low: f32, line: f32, out: &mut String) {
    let _ = writeln!(
        out,
        "<line class=\"axis\" x1=\"40\" y1=\"180\" x2=\"940\" y2=\"180\"/>\
         <line class=\"threshold\" x1=\"{0:.1}\" y1=\"10\" x2=\"{0:.1}\" y2=\"180\"/>\
         <text x=\"{1:.1}\" y=\"32\" text-anchor=\"end\">link line {line:.2}</text>",
        x(line),
        x(line) - 8.0
    );
    for tenth in 0..=10u8 {
        let at = f32::from(tenth) / 10.0;
        if at >= low - 1e-6 {
            let x = x(at);
            let _ =
                writeln!(out, "<text x=\"{x:.1}\" y=\"204\" text-anchor=\"middle\">{at:.1}</text>");
        }
    }
}

/// Who is next to be judged.
pub fn forecast(report: &Report, out: &mut String) {
    let Some(picture) = report.picture.as_ref().filter(|picture| !picture.forecast.is_empty())
    else {
        return;
    };
    out.push_str(
        "<section aria-labelledby=\"ageing\"><h2 id=\"ageing\">Ageing forecast</h2>\
         <p class=\"legend\">Entries that nothing connects to, the nearest to being judged first: how \
         many newer entries their project has, of those it takes (<code>age.newer_entries</code>).\
         </p><div class=\"wide\"><table><thead><tr><th>entry</th><th>newer entries</th>\
         <th>reprieves</th><th>text</th></tr></thead><tbody>\n",
    );
    for entry in &picture.forecast {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td><progress max=\"{1}\" value=\"{2}\">{2}</progress> \
             {2} of {1}</td><td>{3}</td><td>{4}</td></tr>",
            escape(entry.id.get(..8).unwrap_or(&entry.id)),
            picture.newer_entries,
            entry.newer,
            entry.reprieves,
            escape(&one_line(&entry.text, 160))
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}
