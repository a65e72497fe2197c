//! What counts as a vector: finite, of the right length, not zero.

use std::fmt;

/// Why numbers are no vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VectorProblem {
    /// Nothing came.
    Missing,
    /// All zeros, or so small that no direction is left.
    Zero,
    /// NaN or infinity.
    NotFinite,
    /// Another length than the descriptor's.
    Length {
        /// Length that came.
        got: usize,
        /// Length that was wanted.
        want: usize,
    },
}

impl fmt::Display for VectorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no vector"),
            Self::Zero => f.write_str("a zero vector"),
            Self::NotFinite => f.write_str("a vector with NaN or infinity"),
            Self::Length { got, want } => write!(f, "a vector of length {got} instead of {want}"),
        }
    }
}

/// Scales to unit length, or says why these numbers are no vector of `dimensions` numbers.
pub fn unit(mut vector: Vec<f32>, dimensions: usize) -> Result<Vec<f32>, VectorProblem> {
    if vector.is_empty() {
        return Err(VectorProblem::Missing);
    }
    if vector.len() != dimensions {
        return Err(VectorProblem::Length { got: vector.len(), want: dimensions });
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(VectorProblem::NotFinite);
    }
    let norm = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if norm < 1e-12 {
        return Err(VectorProblem::Zero);
    }
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
    Ok(vector)
}

/// Cosine of two unit vectors of the same length.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Mean of unit vectors, each with a weight, scaled to unit length.
pub(super) fn weighted_mean(
    parts: &[(f32, Vec<f32>)],
    dimensions: usize,
) -> Result<Vec<f32>, VectorProblem> {
    let mut sum = vec![0.0; dimensions];
    for (weight, part) in parts {
        sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += weight * value);
    }
    unit(sum, dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn useless_numbers_are_named() {
        assert_eq!(unit(vec![], 2), Err(VectorProblem::Missing));
        assert_eq!(unit(vec![0.0, 0.0], 2), Err(VectorProblem::Zero));
        assert_eq!(unit(vec![f32::NAN, 1.0], 2), Err(VectorProblem::NotFinite));
        assert_eq!(unit(vec![1.0], 2), Err(VectorProblem::Length { got: 1, want: 2 }));
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let vector = unit(vec![f32::MAX, f32::MAX], 2).expect("finite");
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-6);
    }
}
