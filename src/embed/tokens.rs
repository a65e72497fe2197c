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

pub(super) fn pad_id(tokenizer: &Tokenizer) -> u32 {
    let stated = tokenizer.get_padding().map(|padding| padding.pad_id);
    let named = || ["[PAD]", "<pad>"].iter().find_map(|name| tokenizer.token_to_id(name));
    stated.or_else(named).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::Catalog;
    use super::*;

    const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3-tiny");

    fn tiny(max_tokens: usize) -> Tokens {
        let catalog = Catalog::shipped();
        let qwen = catalog.get("qwen3-embedding-0.6b").expect("shipped").clone();
        let descriptor = Descriptor { max_tokens, eos_id: Some(509), ..qwen };
        Tokens::load(&Path::new(TINY).join("tokenizer.json"), &descriptor).expect("sound")
    }

    fn golden() -> serde_json::Value {
        let text = std::fs::read_to_string(format!("{TINY}/golden.json")).expect("there");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn ids_are_those_of_the_reference_and_end_with_the_end_mark() {
        let tokens = tiny(1024);
        for entry in golden()["entries"].as_array().expect("a list") {
            let text = entry["text"].as_str().expect("text");
            let ids: Vec<u32> = serde_json::from_value(entry["ids"].clone()).expect("ids");
            assert_eq!(tokens.windows(text).expect("tokenises"), [ids]);
        }
    }

    #[test]
    fn a_long_text_loses_no_token_and_each_window_has_the_end_mark() {
        let text = "Der Server startet nicht, weil der Port 8080 bereits belegt ist. ".repeat(9);
        let whole = tiny(4096).windows(&text).expect("tokenises").concat();
        let windows = tiny(50).windows(&text).expect("tokenises");
        assert!(windows.iter().all(|window| window.len() <= 50 && window.last() == Some(&509)));
        let kept = windows.iter().flat_map(|window| &window[..window.len() - 1]).copied();
        assert_eq!(kept.chain([509]).collect::<Vec<u32>>(), whole);
    }
}
