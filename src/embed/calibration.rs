//! From raw cosine to the one scale that people see.
//!
//! Raw cosines of different models mean different things, so each descriptor carries three of
//! them: the mean of unrelated pairs (similarity 0), the link line (0.75), and the cluster line.
//! Between them the map is linear:
//! `0.75 (c - mean) / (link - mean)` up to the link line, then
//! `0.75 + 0.25 (c - link) / (1 - link)`. With mean 0 and link 0.75 it is the identity.

use serde::{Deserialize, Serialize};

/// The similarity at which two entries are linked, whatever the model.
pub const LINK_LINE: f32 = 0.75;

/// Raw cosines of one model that fix its scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Mean cosine of unrelated texts.
    pub mean: f32,
    /// Cosine that one in a thousand unrelated pairs exceeds.
    pub link: f32,
    /// Cosine that one in ten thousand unrelated pairs exceeds.
    pub cluster: f32,
}

impl Calibration {
    /// Similarity equals cosine; what an unmeasured model gets.
    pub const IDENTITY: Self = Self { mean: 0.0, link: LINK_LINE, cluster: 0.80 };

    /// The scale that cosines of unrelated pairs call for: their mean, 99.9th and 99.99th
    /// percentile (nearest rank). The order of `cosines` changes. `None`: they fix no scale.
    pub fn measure(cosines: &mut [f32]) -> Option<Self> {
        let count = cosines.len();
        if count == 0 || cosines.iter().any(|cosine| !cosine.is_finite()) {
            return None;
        }
        let mean = cosines.iter().map(|cosine| f64::from(*cosine)).sum::<f64>() / count as f64;
        let mut percentile = |share: f64| {
            let rank = ((share * count as f64).ceil() as usize).clamp(1, count);
            *cosines.select_nth_unstable_by(rank - 1, f32::total_cmp).1
        };
        let (link, cluster) = (percentile(0.999), percentile(0.9999));
        Some(Self { mean: mean as f32, link, cluster }).filter(|scale| scale.problem().is_none())
    }

    /// Similarity in 0..=1 of a raw cosine: monotone, 0.75 at the link line.
    pub fn similarity(&self, cosine: f32) -> f32 {
        let line = if cosine <= self.link {
            LINK_LINE * (cosine - self.mean) / (self.link - self.mean)
        } else {
            LINK_LINE + (1.0 - LINK_LINE) * (cosine - self.link) / (1.0 - self.link)
        };
        line.clamp(0.0, 1.0)
    }

    /// Raw cosine of a similarity; the inverse of [`Self::similarity`] above the mean.
    pub fn cosine(&self, similarity: f32) -> f32 {
        let similarity = similarity.clamp(0.0, 1.0);
        if similarity <= LINK_LINE {
            self.mean + similarity / LINK_LINE * (self.link - self.mean)
        } else {
            self.link + (similarity - LINK_LINE) / (1.0 - LINK_LINE) * (1.0 - self.link)
        }
    }

    /// Why these constants make no scale, if they do not.
    pub fn problem(&self) -> Option<&'static str> {
        let ordered = self.mean < self.link && self.link <= self.cluster && self.cluster < 1.0;
        let finite = [self.mean, self.link, self.cluster].iter().all(|value| value.is_finite());
        let bounded = self.mean > -1.0;
        (!(ordered && finite && bounded))
            .then_some("calibration needs -1 < mean < link <= cluster < 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINILM: Calibration = Calibration { mean: 0.131, link: 0.48, cluster: 0.551 };

    #[test]
    fn the_lines_fall_where_they_are_stated() {
        assert_eq!(MINILM.similarity(0.131), 0.0);
        assert_eq!(MINILM.similarity(0.48), 0.75);
        assert_eq!(MINILM.similarity(1.0), 1.0);
        assert_eq!(MINILM.similarity(-0.4), 0.0);
        assert!((Calibration::IDENTITY.similarity(0.62) - 0.62).abs() < 1e-6);
    }

    #[test]
    fn constants_out_of_order_are_refused() {
        assert!(Calibration { mean: 0.5, link: 0.4, cluster: 0.6 }.problem().is_some());
        assert!(Calibration { mean: 0.1, link: f32::NAN, cluster: 0.6 }.problem().is_some());
        assert!(MINILM.problem().is_none());
    }

    #[test]
    fn a_measured_scale_has_the_percentiles() {
        let mut cosines: Vec<f32> = (0..10_000).rev().map(|n| n as f32 / 20_000.0).collect();
        let scale = Calibration::measure(&mut cosines).expect("a scale");
        assert!((scale.mean - 0.25).abs() < 1e-3);
        assert_eq!((scale.link, scale.cluster), (9_989.0 / 20_000.0, 9_998.0 / 20_000.0));
        assert_eq!(Calibration::measure(&mut []), None);
        assert_eq!(Calibration::measure(&mut [0.3; 50]), None, "no spread, no scale");
    }

    proptest! {
        #[test]
        fn the_map_is_monotone_and_invertible(a in -1.0f32..=1.0, b in -1.0f32..=1.0) {
            let (low, high) = if a <= b { (a, b) } else { (b, a) };
            prop_assert!(MINILM.similarity(low) <= MINILM.similarity(high));
            if a > MINILM.mean {
                prop_assert!((MINILM.cosine(MINILM.similarity(a)) - a).abs() < 1e-5);
            }
        }
    }
}
