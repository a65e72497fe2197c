//! The graph as a picture: each group a ring of entries, the rings in rows.

use super::Picture;
use crate::cli::short_id;
use lifecycle_phases::EntryId;
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Width of the picture, in pixels; rings that do not fit begin a new row.
const WIDTH: f64 = 1200.0;
/// Room for one entry on its ring, in pixels.
const ENTRY: f64 = 34.0;
const MARGIN: f64 = 30.0;

struct Ring<'a> {
    kind: &'static str,
    members: &'a [EntryId],
    x: f64,
    y: f64,
    radius: f64,
}

/// Draws groups, links and labels; hovering shows an entry's text.
pub(super) fn draw(picture: &Picture) -> String {
    let groups = picture.groups();
    let (rings, height) = arrange(&groups);
    let places = places(&rings);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"9\">\n"
    );
    for ring in &rings {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#777\">{}</text>",
            ring.x,
            ring.y - ring.radius - 12.0,
            ring.kind
        );
    }
    draw_links(picture, &places, &mut out);
    draw_entries(picture, &rings, &places, &mut out);
    out.push_str("</svg>\n");
    out
}

fn arrange<'a>(groups: &[(&'static str, &'a [EntryId])]) -> (Vec<Ring<'a>>, f64) {
    let (mut x, mut y, mut row) = (MARGIN, MARGIN, 0.0f64);
    let mut rings = Vec::new();
    for &(kind, members) in groups {
        let radius = (members.len() as f64 * ENTRY / TAU).clamp(16.0, WIDTH / 2.0 - MARGIN);
        let width = 2.0 * (radius + MARGIN);
        if x > MARGIN && x + width > WIDTH {
            (x, y, row) = (MARGIN, y + row, 0.0);
        }
        rings.push(Ring { kind, members, x: x + width / 2.0, y: y + width / 2.0, radius });
        x += width;
        row = row.max(width);
    }
    (rings, y + row + MARGIN)
}

fn places<'a>(rings: &[Ring<'a>]) -> BTreeMap<&'a EntryId, (f64, f64)> {
    let mut places = BTreeMap::new();
    for ring in rings {
        for (number, id) in ring.members.iter().enumerate() {
            let angle = TAU * number as f64 / ring.members.len() as f64;
            let (sin, cos) = angle.sin_cos();
            places.insert(id, (ring.x + ring.radius * cos, ring.y + ring.radius * sin));
        }
    }
    places
}

fn draw_links(picture: &Picture, places: &BTreeMap<&EntryId, (f64, f64)>, out: &mut String) {
    for link in &picture.links {
        let (Some(a), Some(b)) = (places.get(&link.a), places.get(&link.b)) else { continue };
        let dash = if link.differing.is_some() { " stroke-dasharray=\"3 2\"" } else { "" };
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#aaa\" \
             stroke-width=\"{:.1}\"{dash}/>",
            a.0,
            a.1,
            b.0,
            b.1,
            0.5 + 6.0 * (link.similarity - 0.75).max(0.0)
        );
    }
}

fn draw_entries(
    picture: &Picture,
    rings: &[Ring<'_>],
    places: &BTreeMap<&EntryId, (f64, f64)>,
    out: &mut String,
) {
    let items = picture.items();
    for ring in rings {
        for item in ring.members.iter().filter_map(|id| items.get(id)) {
            let Some((x, y)) = places.get(&item.id) else { continue };
            let _ = writeln!(
                out,
                "<g><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                escape(&format!("{} ({})", item.label, item.state)),
                colour(ring.kind),
                x + 6.0,
                y + 3.0,
                short_id(&item.id)
            );
        }
    }
}

fn colour(kind: &str) -> &'static str {
    match kind {
        "cluster" => "#2a7",
        "noise" => "#b55",
        "waiting" => "#c90",
        _ => "#888",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<script>&\"</script>"), "&lt;script&gt;&amp;&quot;&lt;/script&gt;");
    }

    #[test]
    fn rings_do_not_leave_the_picture() {
        let ids: Vec<EntryId> = (0..400).map(|n| EntryId(format!("{n:016x}"))).collect();
        let groups = [("cluster", &ids[..3]), ("waiting", &ids[3..5]), ("isolated", &ids[5..])];
        let (rings, height) = arrange(&groups);
        for ring in rings {
            assert!(ring.x - ring.radius >= 0.0 && ring.x + ring.radius <= WIDTH);
            assert!(ring.y + ring.radius <= height);
        }
    }
}
