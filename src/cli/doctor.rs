//! `lifecycle doctor`: a check that is run, not a status that is read.
//!
//! It makes one tiny real call to the first configured provider and prints the server, the call,
//! who generated lately, the queue wait, the quality of the last replies, and the machine. Each
//! finding names its likely cause; any finding ends it with exit code 6. Whether a server listens
//! is decided by connecting to it. Nothing but the program itself is needed.

mod checks;
mod machine;
mod repair;
mod text;

use super::{Session, print_json, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::model::identity::Pin;
use crate::model::server::Server;
use crate::model::{Ask, Chain, Failure, Purpose};
use crate::store::repair::{Health, examine};
use crate::store::{self, Consolidation, Generator, Latency, Quality, Store};
use crate::tick::consolidate::{StoreLedger, pin_differences, set_pin, world};
use crate::tick::{Context, Mode};
use clap::Args;
use serde::Serialize;

/// Options of `doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// Also send a prompt longer than the context and see whether the server refuses it
    #[arg(long)]
    overflow: bool,
    /// Make no call: only what is recorded
    #[arg(long, conflicts_with = "overflow")]
    no_call: bool,
    /// Remember model, digest, quantisation, runtime, engine and prompt as those that were judged
    /// good; a later difference is told
    #[arg(long, conflicts_with = "no_call")]
    pin: bool,
    /// Look at every file of ours and mend what is damaged; nothing is thrown away
    #[arg(long, conflicts_with_all = ["overflow", "no_call"])]
    repair: bool,
    /// With --repair: say what is wrong and what would be done
    #[arg(long, requires = "repair")]
    dry_run: bool,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Checkup {
    provider: Option<ProviderPart>,
    server: Option<ServerPart>,
    call: Option<CallPart>,
    overflow: Option<String>,
    pinned: Option<Pin>,
    consolidation: Option<Consolidation>,
    window: Window,
    generators: Vec<Generator>,
    latency: Latency,
    queue_wait_ms: Option<f64>,
    quality: Vec<Quality>,
    machine: machine::Machine,
    findings: Vec<String>,
}

/// How far the figures look back; they move with it.
#[derive(Debug, Default, Serialize)]
struct Window {
    days: u32,
    replies: u32,
}

#[derive(Debug, Serialize)]
struct ProviderPart {
    name: String,
    kind: &'static str,
    host: String,
    model: String,
    max_in_flight: usize,
    chain: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ServerPart {
    listening: &'static str,
    context: Option<u64>,
    context_from: Option<&'static str>,
    slots: Option<u64>,
    other_models: Vec<String>,
    cache_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct CallPart {
    model: String,
    total_ms: Option<f64>,
    load_ms: Option<f64>,
    prompt_ms: Option<f64>,
    generation_ms: Option<f64>,
    queue_ms: Option<f64>,
    prompt_tokens: Option<u64>,
}

/// Runs the checks.
pub fn run(session: &Session, args: &DoctorArgs) -> Result<ExitCode> {
    if args.repair {
        return repair::run(session, args.dry_run);
    }
    is_whole(session)?;
    // Asked by nothing but what is recorded, it writes nothing.
    let store = if args.no_call {
        Store::open_reading(&session.paths, &session.settings)?
    } else {
        Store::open(&session.paths, &session.settings)?
    };
    let mut ctx =
        Context::new(store, &session.settings, &session.paths, session.clock, Mode::Live, "doctor");
    let mut found = Checkup::default();
    recorded(&ctx, &mut found)?;
    found.findings.extend(repair::files(session)?);
    let settings = &session.settings.consolidate;
    let mut chain = Chain::new(&settings.model.list(), settings, world(&ctx)?)?;
    if !args.no_call && !chain.is_empty() {
        asked(&mut ctx, &mut chain, args.overflow, &mut found)?;
        if args.pin {
            match set_pin(&mut ctx, &chain)? {
                Ok(pin) => found.pinned = Some(pin),
                Err(failure) => found.findings.push(format!("nothing was pinned: {failure}")),
            }
        }
        found.findings.extend(pin_differences(&ctx, &chain, true)?);
    }
    checks::judge(&session.settings.consolidate, &mut found);
    let code = if found.findings.is_empty() { ExitCode::Success } else { ExitCode::Incomplete };
    if session.global.json {
        print_json(&found)?;
    } else {
        print_text(&text::render(&found, &settings.model.to_string()));
    }
    Ok(code)
}

/// Whatever makes another command fail over a damaged store is found here as well.
fn is_whole(session: &Session) -> Result<()> {
    let path = session.paths.database();
    match examine(&path) {
        Health::Damaged(problems) => {
            Err(Error::damaged(format!("{}: {}", path.display(), problems.join("; "))))
        }
        _ => Ok(()),
    }
}

/// What the store says.
fn recorded(ctx: &Context<'_>, found: &mut Checkup) -> Result<()> {
    let doctor = &ctx.settings.consolidate.doctor;
    let since = ctx.now() - i64::from(doctor.days) * 86_400_000;
    let reader = ctx.store.reader();
    found.window = Window { days: doctor.days, replies: doctor.window };
    found.generators = store::generators(reader, since)?;
    found.latency = store::latency(reader, since)?;
    found.queue_wait_ms = store::queue_wait(reader, since)?;
    found.quality = store::quality(reader, doctor.window, false)?;
    found.machine = machine::look();
    found.consolidation = Some(store::consolidation(reader)?);
    for provider in store::flat_prompts(reader)? {
        found.findings.push(format!(
            "{provider}: the reported prompt tokens stay flat while the bytes sent grow; the server \
             cuts prompts (context or prompt problem, not model quality)"
        ));
    }
    Ok(())
}

/// What the first provider says.
fn asked(
    ctx: &mut Context<'_>,
    chain: &mut Chain,
    overflow: bool,
    found: &mut Checkup,
) -> Result<()> {
    let names = chain.providers().map(|provider| provider.name.clone()).collect();
    let Some(provider) = chain.providers().next().cloned() else { return Ok(()) };
    let server = chain.server();
    found.server = Some(server_part(&server, provider.max_in_flight));
    if let Some(part) = &mut found.server
        && server.is_ok()
    {
        part.other_models = checks::other_models(chain.http(), &provider);
        found.findings.extend(checks::own_system(chain.http(), &provider));
        let context = part.context.unwrap_or(0);
        found.findings.extend(checks::other_context(chain.http(), &provider, context));
    }
    found.provider = Some(ProviderPart {
        name: provider.name.clone(),
        kind: provider.kind.as_str(),
        host: provider.host(),
        model: provider.model.clone(),
        max_in_flight: provider.max_in_flight,
        chain: names,
    });
    if let Err(failure) = server {
        found.findings.push(failure.to_string());
        return Ok(());
    }
    call(ctx, chain, found)?;
    if overflow {
        probe(ctx, chain, found)?;
    }
    Ok(())
}

fn server_part(server: &std::result::Result<Server, Failure>, in_flight: usize) -> ServerPart {
    let known = server.as_ref().ok();
    let slots = known.and_then(|server| server.slots);
    ServerPart {
        listening: match server {
            Ok(_) => "yes",
            Err(Failure::Unreachable { why, .. }) if why.to_lowercase().contains("permission") => {
                "unknown: connecting is not permitted here"
            }
            Err(Failure::Unreachable { .. }) => "no",
            Err(_) => "yes, but not ready",
        },
        context: known.map(|server| server.context),
        context_from: known.map(|server| match server.origin {
            crate::model::server::Origin::Setting => "setting",
            crate::model::server::Origin::Server => "server",
            crate::model::server::Origin::Assumed => "assumed",
        }),
        slots,
        other_models: Vec::new(),
        cache_tokens: known.map(|server| server.context * slots.unwrap_or(in_flight as u64)),
    }
}

fn tiny() -> Ask {
    Ask {
        purpose: Purpose::Canary,
        cluster: None,
        rules: lifecycle_phases::consolidate::prompt::fixed("Answer with the one word: ready"),
        data: "Are you ready?".into(),
        schema: None,
        strict_schema: None,
        prompt_version: "canary".into(),
        max_tokens: Some(16),
    }
}

fn call(ctx: &mut Context<'_>, chain: &mut Chain, found: &mut Checkup) -> Result<()> {
    match chain.ask(&tiny(), &mut StoreLedger { ctx })? {
        Ok(answer) => {
            let usage = answer.usage;
            found.call = Some(CallPart {
                model: answer.model,
                total_ms: usage.total_ms,
                load_ms: usage.load_ms,
                prompt_ms: usage.prompt_ms,
                generation_ms: usage.generation_ms,
                queue_ms: usage.queue_ms,
                prompt_tokens: usage.prompt_tokens,
            });
        }
        // A model that goes on talking has answered all the same.
        Err(missed) if matches!(missed.failure, Failure::OutputTruncated(_)) => {}
        Err(missed) => found.findings.push(format!("the call failed: {}", missed.failure)),
    }
    Ok(())
}

fn probe(ctx: &mut Context<'_>, chain: &mut Chain, found: &mut Checkup) -> Result<()> {
    let outcome = chain.overflow(&tiny(), &mut StoreLedger { ctx })?;
    let text = match outcome {
        Ok(seen) => {
            let seen = seen.map_or("an unknown number of".to_string(), |seen| seen.to_string());
            let text =
                format!("this server truncates silently: it took {seen} tokens of a longer prompt");
            found.findings.push(text.clone());
            text
        }
        Err(failure @ Failure::PromptTooLong { .. }) => format!("refused, as it should: {failure}"),
        Err(failure) => format!("refused, in an unknown way: {failure}"),
    };
    found.overflow = Some(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_what_may_not_be_known_is_not_said_to_be_down() {
        let away = |why: &str| {
            let why = why.to_string();
            server_part(&Err(Failure::Unreachable { host: "h:1".into(), why }), 1).listening
        };
        assert!(away("Permission denied (os error 13)").starts_with("unknown"));
        assert_eq!(away("Connection refused (os error 111)"), "no");
        assert_eq!(server_part(&Err(Failure::Loading), 1).listening, "yes, but not ready");
    }
}
