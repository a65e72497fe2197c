//! From a text to windows of token ids.
//!
//! The tokenizer file's own padding and truncation are switched off: padding is the batch's
//! business, and truncation would lose the tail of a long text. A text that does not fit is cut
//! into windows, each with the special tokens of its own.

use super::Descriptor;
use std::path::Path;
use tokenizers::{Encoding, PostProcessor, Tokenizer, TruncationDirection};

/// Token ids of one window, special tokens included.
pub(super) type Window = Vec<u32>;

/// A tokenizer with the limit of its model.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    max_tokens: usize,
    /// Id that fills shorter texts of a batch; masked, but some graphs count positions by it.
    pub pad_id: u32,
}

impl Tokens {
    /// Reads the tokenizer's file and checks that it marks the end as the descriptor says.
    pub fn load(file: &Path, descriptor: &Descriptor) -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_file(file)
            .map_err(|error| format!("{}: no tokenizer: {error}", file.display()))?;
        let pad_id = pad_id(&tokenizer);
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        let tokens = Self { tokenizer, max_tokens: descriptor.max_tokens, pad_id };
        match descriptor.eos_id {
            Some(eos) if tokens.windows("end")?.last().and_then(|w| w.last()) != Some(&eos) => {
                Err(format!("{}: the tokenizer does not append the end mark {eos}", file.display()))
            }
            _ => Ok(tokens),
        }
    }

    /// The windows of a text: one, if it fits.
    pub fn windows(&self, text: &str) -> Result<Vec<Window>, String> {
        let plain = self.tokenizer.encode(text, false).map_err(|error| error.to_string())?;
        let mut window = plain;
        let room = self.max_tokens.saturating_sub(self.special_tokens()).max(1);
        if window.len() > room {
            window.truncate(room, 0, TruncationDirection::Right);
        }
        let rest = window.take_overflowing();
        std::iter::once(window).chain(rest).map(|window| self.finish(window)).collect()
    }

    fn special_tokens(&self) -> usize {
        self.tokenizer.get_post_processor().map_or(0, |post| post.added_tokens(false))
    }

    fn finish(&self, window: Encoding) -> Result<Window, String> {
        let whole = self.tokenizer.post_process(window, None, true);
        whole.map(|whole| whole.get_ids().to_vec()).map_err(|error| error.to_string())
    }
}

fn pad_id(tokenizer: &Tokenizer) -> u32 {
    let stated = tokenizer.get_padding().map(|padding| padding.pad_id);
    let named = || ["[PAD]", "<pad>"].iter().find_map(|name| tokenizer.token_to_id(name));
    stated.or_else(named).unwrap_or(0)
}
