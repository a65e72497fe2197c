//! From the states of a batch's tokens to one vector a text.

use super::Pooling;

/// States `[texts, width, hidden]` of a batch padded on the right.
pub(super) struct States<'a> {
    /// The numbers, row by row.
    pub data: &'a [f32],
    /// Tokens a text, padding included; 1 where the graph pools by itself.
    pub width: usize,
    /// Numbers a token.
    pub hidden: usize,
}

impl States<'_> {
    /// The vector of the text at `row`, which has `length` real tokens. Not normalised.
    pub fn pool(&self, row: usize, length: usize, pooling: Pooling) -> Vec<f32> {
        match pooling {
            Pooling::LastToken => self.token(row, length.saturating_sub(1)).to_vec(),
            Pooling::Cls | Pooling::None => self.token(row, 0).to_vec(),
            Pooling::Mean => self.mean(row, length),
        }
    }

    fn token(&self, row: usize, token: usize) -> &[f32] {
        let start = (row * self.width + token) * self.hidden;
        &self.data[start..start + self.hidden]
    }

    fn mean(&self, row: usize, length: usize) -> Vec<f32> {
        let mut sum = vec![0.0f32; self.hidden];
        for token in 0..length {
            let state = self.token(row, token);
            sum.iter_mut().zip(state).for_each(|(sum, value)| *sum += value);
        }
        sum.iter_mut().for_each(|sum| *sum /= length.max(1) as f32);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_has_no_part_in_the_vector() {
        let data = [1.0, 0.0, 3.0, 2.0, 9.0, 9.0];
        let states = States { data: &data, width: 3, hidden: 2 };
        assert_eq!(states.pool(0, 2, Pooling::Mean), [2.0, 1.0]);
        assert_eq!(states.pool(0, 2, Pooling::LastToken), [3.0, 2.0]);
        assert_eq!(states.pool(0, 2, Pooling::Cls), [1.0, 0.0]);
    }
}
