//! Where the entries of a picture stand: a force layout after Fruchterman and Reingold, "Graph
//! Drawing by Force-directed Placement" (1991), with a pull to the middle that keeps unconnected
//! parts together. The start is a spiral, so the same graph gives the same picture.

/// A place in a field of 1 × 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f32,
    /// From the top.
    pub y: f32,
}

const ROUNDS: usize = 220;
/// How strongly everything is drawn to the middle.
const GRAVITY: f32 = 0.6;
/// Turn from one start place to the next: the golden angle, radians.
const TURN: f32 = 2.399_963;

/// The places of `count` entries; `pulls` are pairs with their similarity.
pub fn place(count: usize, pulls: &[(usize, usize, f32)]) -> Vec<Point> {
    if count == 0 {
        return Vec::new();
    }
    let ideal = (1.0 / count as f32).sqrt();
    let mut at: Vec<Point> = (0..count).map(|n| start(n, count)).collect();
    for round in 0..ROUNDS {
        let reach = 0.12 * (1.0 - round as f32 / ROUNDS as f32) + 0.001;
        let force = forces(&at, pulls, ideal);
        for (point, push) in at.iter_mut().zip(force) {
            let length = push.x.hypot(push.y).max(1e-6);
            let step = length.min(reach) / length;
            point.x += push.x * step;
            point.y += push.y * step;
        }
    }
    fit(&mut at);
    at
}

fn start(n: usize, count: usize) -> Point {
    let radius = 0.45 * ((n as f32 + 0.5) / count as f32).sqrt();
    let angle = n as f32 * TURN;
    Point { x: 0.5 + radius * angle.cos(), y: 0.5 + radius * angle.sin() }
}

fn forces(at: &[Point], pulls: &[(usize, usize, f32)], ideal: f32) -> Vec<Point> {
    let mut force: Vec<Point> = at
        .iter()
        .map(|point| Point {
            x: (0.5 - point.x) * GRAVITY * ideal,
            y: (0.5 - point.y) * GRAVITY * ideal,
        })
        .collect();
    for a in 0..at.len() {
        for b in a + 1..at.len() {
            let (dx, dy) = (at[a].x - at[b].x, at[a].y - at[b].y);
            let push = ideal * ideal / (dx * dx + dy * dy).max(1e-6);
            add(&mut force, a, b, dx * push, dy * push);
        }
    }
    for (a, b, similarity) in pulls {
        let (dx, dy) = (at[*a].x - at[*b].x, at[*a].y - at[*b].y);
        let pull = -dx.hypot(dy) / ideal * similarity.clamp(0.1, 1.0);
        add(&mut force, *a, *b, dx * pull, dy * pull);
    }
    force
}

fn add(force: &mut [Point], a: usize, b: usize, x: f32, y: f32) {
    force[a].x += x;
    force[a].y += y;
    force[b].x -= x;
    force[b].y -= y;
}

/// Stretches the places over the field, with a margin; both ways by the same factor, so that near
/// stays near.
fn fit(at: &mut [Point]) {
    let (left, right) = span(at, |point| point.x);
    let (top, bottom) = span(at, |point| point.y);
    let side = (right - left).max(bottom - top).max(1e-6);
    let scale =
        |value: f32, low: f32, high: f32| 0.5 + 0.92 * (value - f32::midpoint(low, high)) / side;
    for point in at {
        *point = Point { x: scale(point.x, left, right), y: scale(point.y, top, bottom) };
    }
}

fn span(at: &[Point], of: fn(&Point) -> f32) -> (f32, f32) {
    at.iter()
        .map(of)
        .fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: Point, b: Point) -> f32 {
        (a.x - b.x).hypot(a.y - b.y)
    }

    #[test]
    fn the_same_graph_gives_the_same_picture() {
        let pulls = [(0, 1, 0.9), (1, 2, 0.8)];
        assert_eq!(place(12, &pulls), place(12, &pulls));
        assert!(
            place(12, &pulls)
                .iter()
                .all(|at| (0.0..=1.0).contains(&at.x) && (0.0..=1.0).contains(&at.y))
        );
    }

    #[test]
    fn linked_entries_stand_nearer() {
        let at = place(
            6,
            &[(0, 1, 0.9), (1, 2, 0.9), (0, 2, 0.9), (3, 4, 0.9), (4, 5, 0.9), (3, 5, 0.9)],
        );
        let inside = distance(at[0], at[1]).max(distance(at[3], at[4]));
        assert!(inside < distance(at[0], at[3]), "{at:?}");
    }

    #[test]
    fn one_or_no_entry_is_no_trouble() {
        assert!(place(0, &[]).is_empty());
        assert_eq!(place(1, &[]), [Point { x: 0.5, y: 0.5 }]);
    }
}
