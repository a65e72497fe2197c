//! The pinned configuration: which model, runtime, engine and prompt were judged good.

use super::super::{Context, Level};
use crate::error::Result;
use crate::model::identity::{Pin, identify};
use crate::model::{Chain, Failure, MERGE_RULES};
use crate::store;
use lifecycle_phases::Phase;
use lifecycle_phases::consolidate::prompt;

/// What to do about a difference.
const ADVICE: &str = "judge it anew with `lifecycle prompt replay`, then `lifecycle doctor --pin`";

fn key(provider: &str) -> String {
    format!("pin.{provider}")
}

/// What the first provider of the chain is now; `None` without a provider.
fn now(chain: &Chain, hash: bool) -> std::result::Result<Option<(String, Pin)>, Failure> {
    let Some(provider) = chain.providers().next() else { return Ok(None) };
    let pin = Pin {
        identity: identify(chain.http(), provider, hash)?,
        configured: provider.model.clone(),
        engine: env!("CARGO_PKG_VERSION").into(),
        prompt: prompt::version(MERGE_RULES),
    };
    Ok(Some((provider.name.clone(), pin)))
}

fn pinned(ctx: &Context<'_>, provider: &str) -> Result<Option<Pin>> {
    let text = store::meta(ctx.store.reader(), &key(provider))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Pins what the first provider is now, and says what that is.
pub fn set(ctx: &mut Context<'_>, chain: &Chain) -> Result<std::result::Result<Pin, Failure>> {
    let (name, pin) = match now(chain, true) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Ok(Pin::default())),
        Err(failure) => return Ok(Err(failure)),
    };
    let text = serde_json::to_string(&pin)?;
    ctx.store.write(|tx| store::set_meta(tx, &key(&name), &text))?;
    Ok(Ok(pin))
}

/// In which ways the first provider differs from what was pinned. With `hash`, its weights file is
/// hashed where it can be read, which reads all of it.
pub fn differences(ctx: &Context<'_>, chain: &Chain, hash: bool) -> Result<Vec<String>> {
    let Some(name) = chain.providers().next().map(|provider| provider.name.clone()) else {
        return Ok(Vec::new());
    };
    let Some(pin) = pinned(ctx, &name)? else { return Ok(Vec::new()) };
    // A server that is away says so elsewhere.
    let Ok(Some((_, now))) = now(chain, hash) else { return Ok(Vec::new()) };
    let differences = pin.differences(&now).into_iter();
    Ok(differences.map(|what| format!("{name}: the pinned {what}; {ADVICE}")).collect())
}

/// Notes the differences that are found without reading the weights.
pub fn compare(ctx: &mut Context<'_>, chain: &mut Chain) -> Result<()> {
    for text in differences(ctx, chain, false)? {
        ctx.note(Level::Waiting, Phase::Consolidate, text);
    }
    Ok(())
}
