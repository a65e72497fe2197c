//! Vectors as 8-bit codes.
//!
//! Each vector is divided by its own largest number (`max-abs`), so that the code uses the whole
//! range whatever the vector; a single scale for all vectors costs several points of recall.

use super::VectorError;

/// A vector as one signed byte a number: `value ≈ byte · scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The bytes, −127 to 127.
    pub bytes: Vec<i8>,
    /// Value of one step.
    pub scale: f32,
}

impl Code {
    /// The bytes as files hold them.
    pub fn unsigned(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| byte.cast_unsigned()).collect()
    }
}

/// The code of `vector`, which must have `dimensions` finite numbers that are not all zero.
pub fn quantise(vector: &[f32], dimensions: usize) -> Result<Code, VectorError> {
    if vector.len() != dimensions {
        return Err(VectorError::Length { got: vector.len(), want: dimensions });
    }
    let largest = vector.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let finite = vector.iter().all(|value| value.is_finite());
    if !finite || largest < f32::MIN_POSITIVE {
        return Err(VectorError::Useless);
    }
    let bytes = vector.iter().map(|value| (value / largest * 127.0).round() as i8).collect();
    Ok(Code { bytes, scale: largest / 127.0 })
}
