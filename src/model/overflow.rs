//! "Your prompt is too long", in all the shapes that servers have for it.

use serde_json::Value;

/// Numbers that a server gave with its refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Tokens of the prompt.
    pub tokens: Option<u64>,
    /// Context length.
    pub context: Option<u64>,
}

const SIGNS: &[&str] = &[
    "exceed_context_size_error",
    "exceeds the available context size",
    "longer than the context length",
    "context_length_exceeded",
    "maximum context length is",
    "model is loaded with context length of only",
    "input token count (",
];

/// Whether a body says that the prompt exceeds the context. One level of JSON inside a string
/// (Ollama wraps llama-server's answer so) is undone first.
pub fn recognise(body: &str) -> Option<Overflow> {
    let inner = unwrapped(body);
    let text = format!("{body}\n{}", inner.as_ref().map(Value::to_string).unwrap_or_default());
    let lower = text.to_lowercase();
    if !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    let value = inner.or_else(|| serde_json::from_str(body).ok()).unwrap_or(Value::Null);
    let number = |name: &str| {
        [format!("/error/{name}"), format!("/{name}")]
            .iter()
            .find_map(|path| value.pointer(path).and_then(Value::as_u64))
    };
    Some(Overflow {
        tokens: number("n_prompt_tokens").or_else(|| {
            number_after(&lower, &["you requested ", "input token count (", "request ("])
        }),
        context: number("n_ctx").or_else(|| {
            number_after(
                &lower,
                &[
                    "maximum context length is ",
                    "context length of only ",
                    "maximum number of tokens allowed (",
                ],
            )
        }),
    })
}

fn unwrapped(body: &str) -> Option<Value> {
    let outer: Value = serde_json::from_str(body).ok()?;
    serde_json::from_str(outer.get("error")?.as_str()?).ok()
}

fn number_after(text: &str, heads: &[&str]) -> Option<u64> {
    heads.iter().find_map(|head| {
        let rest = &text[text.find(head)? + head.len()..];
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_every_shape_is_recognised() {
        let cases: &[(&str, Option<u64>, Option<u64>)] = &[
            (
                r#"{"error":"the prompt is longer than the context length currently available to the model; shorten the prompt"}"#,
                None,
                None,
            ),
            (
                r#"{"error":"{\"error\":{\"code\":400,\"message\":\"request (1256 tokens) exceeds the available context size (512 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":1256,\"n_ctx\":512}}"}"#,
                Some(1256),
                Some(512),
            ),
            (
                r#"{"error":{"code":400,"message":"request (12030 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":12030,"n_ctx":8192}}"#,
                Some(12030),
                Some(8192),
            ),
            (
                r#"{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion).","type":"BadRequestError","code":400}"#,
                Some(19591),
                Some(16384),
            ),
            (r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#, None, None),
            (
                r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
                None,
                Some(4096),
            ),
            (
                r#"{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
                Some(1_200_293),
                Some(1_048_576),
            ),
        ];
        for (body, tokens, context) in cases {
            assert_eq!(
                recognise(body),
                Some(Overflow { tokens: *tokens, context: *context }),
                "{body}"
            );
        }
    }

    #[test]
    fn other_refusals_are_no_overflow() {
        assert_eq!(recognise(r#"{"error":"model 'nope' not found"}"#), None);
        assert_eq!(recognise("not json at all"), None);
    }
}
