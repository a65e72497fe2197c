//! How near the new entries of a tick were to what was there: for each the similarity of its
//! nearest neighbour, in bars. Kept with the tick, so that its report can show where the link line
//! lies in the crowd, whatever was linked since.

/// Bars from 0 to 1.
const BARS: usize = 40;

/// Counts of similarities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Similarities(Vec<u32>);

impl Similarities {
    /// Counts the nearest neighbour of an entry.
    pub fn add(&mut self, similarity: f32) {
        if self.0.is_empty() {
            self.0 = vec![0; BARS];
        }
        let bar = (similarity.clamp(0.0, 1.0) * BARS as f32) as usize;
        self.0[bar.min(BARS - 1)] += 1;
    }

    /// Whether none was counted.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Where each bar begins, and how many it has.
    pub fn bars(&self) -> impl Iterator<Item = (f32, u32)> + '_ {
        self.0.iter().enumerate().map(|(n, count)| (n as f32 / BARS as f32, *count))
    }

    /// Width of a bar.
    pub const WIDTH: f32 = 1.0 / BARS as f32;

    /// As the store keeps it: the counts in JSON.
    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// From the store; anything else is none.
    pub fn from_text(text: &str) -> Self {
        Self(
            serde_json::from_str(text)
                .ok()
                .filter(|bars: &Vec<u32>| bars.len() == BARS)
                .unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_similarity_stands_in_its_bar() {
        let mut counted = Similarities::default();
        assert!(counted.is_empty());
        for similarity in [-0.2, 0.0, 0.75, 0.751, 1.0] {
            counted.add(similarity);
        }
        let bars: Vec<(f32, u32)> = counted.bars().filter(|(_, count)| *count > 0).collect();
        assert_eq!(bars, [(0.0, 2), (0.75, 2), (0.975, 1)]);
        assert_eq!(Similarities::from_text(&counted.to_text()), counted);
        assert!(Similarities::from_text("[1, 2]").is_empty());
    }
}
