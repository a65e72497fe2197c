//! Settings of providers: what is taken, what is refused with what to do.

use super::*;
use crate::config::Layers;

fn settings(text: &str) -> ConsolidateSettings {
    let mut layers = Layers::defaults();
    layers.merge_text(text, crate::config::Origin::Flag).expect("known keys");
    layers.settings().expect("valid").consolidate
}

fn resolve(table: &str) -> Result<Provider> {
    Provider::resolve("m", &settings(&format!("[consolidate.providers.m]\n{table}")))
}

#[test]
fn a3_a5_local_kinds_need_no_key() {
    for kind in ["ollama", "llama-server", "openai-compatible"] {
        let table = format!("kind = \"{kind}\"\nurl = \"http://127.0.0.1:9\"\nmodel = \"x\"\n");
        let provider = resolve(&table).expect("no key is needed");
        assert_eq!((provider.key, provider.kind.as_str()), (None, kind));
    }
}

#[test]
fn a5_a_hosted_kind_without_its_key_names_the_variable() {
    let text = "[consolidate]\nlocal_only = false\n[consolidate.providers.m]\nkind = \"gemini\"\nmodel = \"g\"\nhosted = true\nkey_env = \"LIFECYCLE_TEST_NO_SUCH_KEY\"\n";
    let error = Provider::resolve("m", &settings(text)).expect_err("no key");
    assert!(error.message.contains("LIFECYCLE_TEST_NO_SUCH_KEY"), "{error}");
}

#[test]
fn f7_nothing_leaves_the_machine_unasked() {
    for url in [
        "http://192.168.0.2:8080",
        "http://localhost.example.com",
        "http://127.0.0.1.nip.io",
        "http://0.0.0.0:1",
    ] {
        let table = format!(
            "kind = \"openai-compatible\"\nurl = \"{url}\"\nmodel = \"x\"\nhosted = true\n"
        );
        let error = resolve(&table).expect_err("not loopback");
        assert!(error.message.contains("local_only"), "{error}");
    }
    let open = "[consolidate]\nlocal_only = false\n[consolidate.providers.m]\nkind = \"openai-compatible\"\nurl = \"http://192.168.0.2\"\nmodel = \"x\"\n";
    let error = Provider::resolve("m", &settings(open)).expect_err("no opt-in");
    assert!(error.hint.is_some_and(|hint| hint.contains("hosted = true")));
    assert!(is_loopback("http://127.8.9.1") && is_loopback("http://[::1]:80"));
}

#[test]
fn b1_the_default_timeout_is_two_minutes() {
    let provider = resolve("kind = \"ollama\"\nmodel = \"x\"\n").expect("valid");
    assert!(provider.timeout >= Duration::from_secs(120));
    assert_eq!(provider.url, "http://127.0.0.1:11435");
}

#[test]
fn a6_every_limit_is_a_setting() {
    let provider = resolve("kind = \"ollama\"\nmodel = \"x\"\ntimeout_seconds = 300\nretries = 5\nbackoff_seconds = 0.5\nmax_tokens = 10\ntemperature = 0.5\nmax_in_flight = 3\nmax_prompt_tokens = 99\ncontext_tokens = 2048\nkeep_alive = \"5m\"\n").expect("valid");
    assert_eq!(provider.timeout, Duration::from_secs(300));
    assert_eq!((provider.retries, provider.max_tokens, provider.max_in_flight), (5, 10, 3));
    assert_eq!((provider.max_prompt_tokens, provider.context_tokens), (99, 2048));
    assert_eq!((provider.keep_alive.as_str(), provider.temperature), ("5m", 0.5));
    assert_eq!(provider.backoff, Duration::from_millis(500));
}

#[test]
fn f8_a_key_file_others_can_read_is_refused_and_no_key_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    std::fs::write(&path, "sekret\n").expect("written");
    let table = format!("kind = \"ollama\"\nmodel = \"x\"\nkey_file = \"{}\"\n", path.display());
    let set_mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("changed");
    };
    set_mode(0o644);
    assert!(resolve(&table).is_err());
    set_mode(0o600);
    let provider = resolve(&table).expect("valid");
    assert!(!format!("{provider:?}").contains("sekret"));
}
