//! Vectors without what all texts of a project share.
//!
//! Texts of one repository lie close together: their mean and a few strong directions say "this
//! repository", not which part of it. Taking them out before comparing tells the parts apart
//! better (Mu & Viswanath 2018, *All-but-the-top*).

/// Directions taken out besides the mean.
const DIRECTIONS: usize = 3;
/// Steps of the power iteration; the directions need not be exact.
const STEPS: usize = 20;
/// Vectors the directions are computed from at most.
const SAMPLE: usize = 4096;

/// The mean and the strongest directions of a set of unit vectors.
pub struct Directions {
    mean: Vec<f32>,
    strongest: Vec<Vec<f32>>,
}

impl Directions {
    /// Of `vectors`; `None` where there are too few for directions to mean anything.
    pub fn of(vectors: &[&[f32]]) -> Option<Self> {
        let size = vectors.first()?.len();
        if vectors.len() < 8 || size == 0 || vectors.iter().any(|vector| vector.len() != size) {
            return None;
        }
        let stride = vectors.len().div_ceil(SAMPLE);
        let sample: Vec<&[f32]> = vectors.iter().step_by(stride).copied().collect();
        let mut mean = vec![0.0; size];
        for vector in &sample {
            add(&mut mean, vector, 1.0 / sample.len() as f32);
        }
        let mut directions = Self { mean, strongest: Vec::new() };
        if vectors.len() >= 64 {
            let rows: Vec<Vec<f32>> =
                sample.iter().map(|vector| directions.centred(vector)).collect();
            for n in 0..DIRECTIONS {
                let next = directions.next(&rows, n);
                directions.strongest.push(next);
            }
        }
        Some(directions)
    }

    /// The unit vector that is left of `vector`; all zeros where nothing is.
    pub fn without(&self, vector: &[f32]) -> Vec<f32> {
        if vector.len() != self.mean.len() {
            return Vec::new();
        }
        let mut rest = self.centred(vector);
        for direction in &self.strongest {
            let share = dot(&rest, direction);
            add(&mut rest, direction, -share);
        }
        unit(rest)
    }

    fn centred(&self, vector: &[f32]) -> Vec<f32> {
        vector.iter().zip(&self.mean).map(|(value, mean)| value - mean).collect()
    }

    /// The strongest direction orthogonal to those found.
    fn next(&self, rows: &[Vec<f32>], n: usize) -> Vec<f32> {
        let size = self.mean.len();
        // A fixed start that is orthogonal to nothing in particular keeps the result the same.
        let mut current = unit((0..size).map(|i| 1.0 + ((i * 7 + n * 3) % 11) as f32).collect());
        for _ in 0..STEPS {
            let mut next = vec![0.0; size];
            for row in rows {
                add(&mut next, row, dot(row, &current));
            }
            for direction in &self.strongest {
                let share = dot(&next, direction);
                add(&mut next, direction, -share);
            }
            current = unit(next);
        }
        current
    }
}

/// Scalar product; 0 for vectors of different length.
pub fn dot(one: &[f32], other: &[f32]) -> f32 {
    if one.len() != other.len() {
        return 0.0;
    }
    // Eight sums side by side let the compiler use wide registers.
    let mut sums = [0.0_f32; 8];
    let (left, right) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in left.zip(right) {
        for n in 0..8 {
            sums[n] += x[n] * y[n];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// `sum += factor * vector`
pub fn add(sum: &mut [f32], vector: &[f32], factor: f32) {
    for (total, value) in sum.iter_mut().zip(vector) {
        *total += factor * value;
    }
}

/// The vector with length 1; zeros stay.
pub fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    if length > 1e-9 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_share_is_gone() {
        let vectors: Vec<Vec<f32>> = (0..100)
            .map(|n| {
                unit((0..16).map(|i| if i == 0 { 5.0 } else { ((n * i) % 7) as f32 }).collect())
            })
            .collect();
        let all: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let Some(directions) = Directions::of(&all) else { panic!("enough vectors") };
        let left: Vec<Vec<f32>> = all.iter().map(|vector| directions.without(vector)).collect();
        let mean = |vectors: &[Vec<f32>]| {
            let mut mean = vec![0.0; 16];
            vectors.iter().for_each(|vector| add(&mut mean, vector, 0.01));
            dot(&mean, &mean)
        };
        assert!(mean(&left) < 0.25 * mean(&vectors), "{} of {}", mean(&left), mean(&vectors));
        assert!(left.iter().all(|vector| (dot(vector, vector) - 1.0).abs() < 1e-3));
    }
}
