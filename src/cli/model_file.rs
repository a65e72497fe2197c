//! `lifecycle model-file`: an Ollama Modelfile that carries the same rules as the prompt.

use super::{Session, print_raw};
use crate::error::{Error, ExitCode, Result};
use crate::model::MERGE_RULES;
use crate::model::provider::Provider;
use clap::Args;
use lifecycle_phases::consolidate::prompt;

/// Options of `model-file`.
#[derive(Args)]
#[command(after_help = "Then:
  lifecycle model-file > Modelfile && ollama create lifecycle-merge -f Modelfile
and set rules_in = \"modelfile\" and model = \"lifecycle-merge\" for that provider.")]
pub struct ModelFileArgs {
    /// The provider whose model and context go into it; the first of consolidate.model by default
    provider: Option<String>,
}

/// Prints the Modelfile.
pub fn run(session: &Session, args: &ModelFileArgs) -> Result<ExitCode> {
    let settings = &session.settings.consolidate;
    let names = settings.model.list();
    let name = args
        .provider
        .as_deref()
        .or_else(|| names.iter().copied().find(|name| !matches!(*name, "extractive" | "none")));
    let name = name.ok_or_else(|| {
        Error::config("no provider is configured").hint("name one: lifecycle model-file NAME")
    })?;
    let provider = Provider::resolve(name, settings)?;
    print_raw(&model_file(&provider));
    Ok(ExitCode::Success)
}

/// The text. A context of 0 (asked from the server) becomes 8192.
fn model_file(provider: &Provider) -> String {
    let context = if provider.context_tokens == 0 { 8192 } else { provider.context_tokens };
    format!(
        "FROM {}\nPARAMETER num_ctx {context}\nPARAMETER temperature {}\nPARAMETER seed {}\nSYSTEM \"\"\"{}\"\"\"\n",
        provider.model,
        provider.temperature,
        provider.seed,
        prompt::fixed(MERGE_RULES)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Origin};

    #[test]
    fn a12_the_model_file_carries_the_rules_of_the_prompt() {
        let mut layers = Layers::defaults();
        let text = "[consolidate.providers.m]\nkind = \"ollama\"\nmodel = \"qwen2.5:3b\"\ncontext_tokens = 4096\n";
        layers.merge_text(text, Origin::Flag).expect("known keys");
        let settings = layers.settings().expect("valid").consolidate;
        let text = model_file(&Provider::resolve("m", &settings).expect("valid"));
        let head = "FROM qwen2.5:3b\nPARAMETER num_ctx 4096\nPARAMETER temperature 0\nPARAMETER seed 7\nSYSTEM \"\"\"";
        assert!(text.starts_with(head), "{text}");
        let question = lifecycle_phases::consolidate::prepare(
            &lifecycle_phases::consolidate::Cluster::default(),
        )
        .question(MERGE_RULES);
        assert!(text.contains(&question.rules));
    }
}
