//! Why a text has no vector, and whether the text is to blame.

use super::VectorProblem;
use crate::error::{Error, ExitCode};

/// Why a text has no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Nothing to embed.
    #[error("the text is blank")]
    Blank,
    /// This text was refused while others are accepted.
    #[error("refused: {0}")]
    Refused(String),
    /// This text's vector cannot be used while others can.
    #[error("the model answered with {0}")]
    Vector(VectorProblem),
    /// The server is not there, too slow, or failing.
    #[error("the embedding server cannot be used: {0}")]
    Server(String),
    /// The library, a model file or a setting is missing or wrong.
    #[error("{message}")]
    Unavailable {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
        /// Exit code it leads to, see [`ExitCode`].
        code: u8,
    },
}

impl EmbedError {
    /// No text is to blame: it will work once the surroundings do, so it counts against none.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Unavailable { .. })
    }

    pub(super) fn missing() -> Self {
        Self::Vector(VectorProblem::Missing)
    }
}

impl From<Error> for EmbedError {
    fn from(error: Error) -> Self {
        Self::Unavailable { message: error.message, hint: error.hint, code: error.code as u8 }
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Unavailable { message, hint, code } => {
                let code = match code {
                    3 => ExitCode::Config,
                    9 => ExitCode::Missing,
                    _ => ExitCode::Failure,
                };
                Self { code, message, hint }
            }
            EmbedError::Server(_) => Self::new(ExitCode::Incomplete, error.to_string())
                .hint("start the server, or set embed.url to \"\" to embed in process"),
            _ => Self::input(error.to_string()),
        }
    }
}
