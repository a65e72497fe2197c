//! The graph as a picture: each group a ring of entries, the rings in rows; entries without a link
//! in a grid below.

use super::Picture;
use crate::report::one_line;
use lifecycle_phases::EntryId;
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Width of the picture, in pixels; rings that do not fit begin a new row.
const WIDTH: f64 = 1200.0;
/// Room for one entry on its ring, in pixels.
const ENTRY: f64 = 24.0;
const MARGIN: f64 = 30.0;
/// Room for a label beside its ring.
const LABEL: f64 = 90.0;
/// Columns of a label.
const LABEL_COLUMNS: usize = 18;
/// Columns of a label in the grid.
const CELL_COLUMNS: usize = 38;
/// Size of a place in the grid.
const CELL: (f64, f64) = (228.0, 16.0);

struct Ring<'a> {
    kind: &'static str,
    members: &'a [EntryId],
    x: f64,
    y: f64,
    radius: f64,
}

/// Where an entry stands, and the direction that its label runs in, from the middle of its ring.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    /// In turns of a circle; none in the grid.
    turn: Option<f64>,
}

/// Draws groups, links and labels; hovering shows an entry's text.
pub(super) fn draw(picture: &Picture) -> String {
    let groups = picture.groups();
    let (linked, alone): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|(kind, _)| *kind != "isolated");
    let (rings, ringed) = arrange(&linked);
    let alone: Vec<&EntryId> = alone.iter().flat_map(|(_, members)| *members).collect();
    let (grid, height) = grid(alone.len(), ringed);
    let mut places = places(&rings);
    places.extend(alone.iter().copied().zip(grid));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"9\">\n"
    );
    for ring in &rings {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#777\">{}</text>",
            ring.x,
            ring.y - ring.radius - LABEL - 6.0,
            ring.kind
        );
    }
    if !alone.is_empty() {
        let y = ringed + 12.0;
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y:.1}\" fill=\"#777\">isolated</text>");
    }
    draw_links(picture, &places, &mut out);
    for ring in &rings {
        draw_entries(picture, ring.members.iter(), ring.kind, &places, &mut out);
    }
    draw_entries(picture, alone.into_iter(), "isolated", &places, &mut out);
    out.push_str("</svg>\n");
    out
}

fn arrange<'a>(groups: &[(&'static str, &'a [EntryId])]) -> (Vec<Ring<'a>>, f64) {
    let (mut x, mut y, mut row) = (MARGIN, MARGIN, 0.0f64);
    let mut rings = Vec::new();
    for &(kind, members) in groups {
        let most = WIDTH / 2.0 - 2.0 * MARGIN - LABEL;
        let radius = (members.len() as f64 * ENTRY / TAU).clamp(16.0, most);
        let width = 2.0 * (radius + LABEL + MARGIN / 2.0);
        if x > MARGIN && x + width > WIDTH {
            (x, y, row) = (MARGIN, y + row, 0.0);
        }
        rings.push(Ring { kind, members, x: x + width / 2.0, y: y + width / 2.0, radius });
        x += width;
        row = row.max(width);
    }
    (rings, if groups.is_empty() { MARGIN } else { y + row + MARGIN })
}

/// Places for `count` entries in rows below `top`, and where they end.
fn grid(count: usize, top: f64) -> (Vec<Place>, f64) {
    let columns = ((WIDTH - 2.0 * MARGIN) / CELL.0).floor().max(1.0) as usize;
    let place = |n: usize| Place {
        x: MARGIN + 5.0 + (n % columns) as f64 * CELL.0,
        y: top + 12.0 + CELL.1 * ((n / columns) as f64 + 1.0),
        turn: None,
    };
    let rows = count.div_ceil(columns) as f64;
    let height = if count == 0 { top } else { top + 12.0 + CELL.1 * rows + MARGIN };
    ((0..count).map(place).collect(), height)
}

fn places<'a>(rings: &[Ring<'a>]) -> BTreeMap<&'a EntryId, Place> {
    let mut places = BTreeMap::new();
    for ring in rings {
        for (number, id) in ring.members.iter().enumerate() {
            let turn = number as f64 / ring.members.len() as f64;
            let (sin, cos) = (TAU * turn).sin_cos();
            let (x, y) = (ring.x + ring.radius * cos, ring.y + ring.radius * sin);
            places.insert(id, Place { x, y, turn: Some(turn) });
        }
    }
    places
}

fn draw_links(picture: &Picture, places: &BTreeMap<&EntryId, Place>, out: &mut String) {
    for link in &picture.links {
        let (Some(a), Some(b)) = (places.get(&link.a), places.get(&link.b)) else { continue };
        let dash = if link.differing.is_some() { " stroke-dasharray=\"3 2\"" } else { "" };
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#aaa\" \
             stroke-width=\"{:.1}\"{dash}/>",
            a.x,
            a.y,
            b.x,
            b.y,
            0.5 + 6.0 * (link.similarity - 0.75).max(0.0)
        );
    }
}

fn draw_entries<'a>(
    picture: &Picture,
    members: impl Iterator<Item = &'a EntryId>,
    kind: &str,
    places: &BTreeMap<&EntryId, Place>,
    out: &mut String,
) {
    let items = picture.items();
    for item in members.filter_map(|id| items.get(id)) {
        let Some(place) = places.get(&item.id) else { continue };
        let Place { x, y, .. } = place;
        let _ = writeln!(
            out,
            "<g><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{}\"/>\
             <text {}</text></g>",
            escape(&format!("{} ({})", item.label, item.state)),
            colour(kind),
            label(*place, &item.label)
        );
    }
}

/// The rest of a label's element: it runs outward from a ring, never upside down.
fn label(Place { x, y, turn }: Place, text: &str) -> String {
    let columns = if turn.is_some() { LABEL_COLUMNS } else { CELL_COLUMNS };
    let text = escape(&one_line(text, columns));
    let Some(turn) = turn else {
        return format!("x=\"{:.1}\" y=\"{:.1}\">{text}", x + 9.0, y + 3.0);
    };
    let is_left = turn > 0.25 && turn < 0.75;
    let (anchor, step, degrees) = match is_left {
        true => ("end", -9.0, 360.0 * turn - 180.0),
        false => ("start", 9.0, 360.0 * turn),
    };
    format!(
        "text-anchor=\"{anchor}\" transform=\"translate({x:.1} {y:.1}) rotate({degrees:.1})\" \
         x=\"{step}\" y=\"3\">{text}"
    )
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
        let groups = [("cluster", &ids[..3]), ("waiting", &ids[3..5]), ("noise", &ids[5..])];
        let (rings, height) = arrange(&groups);
        for ring in rings {
            assert!(ring.x - ring.radius >= 0.0 && ring.x + ring.radius <= WIDTH);
            assert!(ring.y + ring.radius <= height);
        }
        let (grid, height) = grid(400, 100.0);
        assert!(grid.iter().all(|place| place.x + CELL.0 <= WIDTH && place.y < height));
        assert!(height < 1_600.0 && grid[399].y > grid[0].y);
    }
}
