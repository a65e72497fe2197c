//! The shapes of secrets.
//!
//! No crate of a maintained rule set can be used: `kingfisher-rules` 3 needs a newer compiler than
//! ours and carries share-alike material, `ripsecrets` is a command without a rule interface, and
//! `redact` wraps values that are known to be secret already. The shapes below are the issuers' own
//! published prefixes and lengths.

use super::check::Check;

/// One shape. `pattern` matches the secret itself, or has a group `v` that does.
pub(super) struct Rule {
    /// Its name in counts and in the text that takes the secret's place.
    pub(super) name: &'static str,
    /// The pattern is tried only if the text, in lower case, contains one of these.
    pub(super) hints: &'static [&'static str],
    /// The expression.
    pub(super) pattern: &'static str,
    /// What must hold for the value besides.
    pub(super) check: Check,
}

const fn rule(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    check: Check,
) -> Rule {
    Rule { name, hints, pattern, check }
}

use Check::{Entropy, None, Password, Token, Url};

/// Every rule, in the order in which they are applied: a value that one has taken is not seen by
/// the next, so the particular ones come before the general ones.
pub(super) const RULES: &[Rule] = &[
    rule(
        "private-key",
        &["private key"],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)",
        None,
    ),
    rule("age-key", &["age-secret-key-"], r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}", None),
    rule("jwt", &["eyj"], r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", None),
    rule(
        "aws-access-key-id",
        &["akia", "asia", "abia", "acca"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
        None,
    ),
    rule(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
        None,
    ),
    rule(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{20,}",
        Entropy(2.5),
    ),
    rule(
        "slack-token",
        &["xox", "xapp-"],
        r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
        Entropy(2.5),
    ),
    rule(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows)/(?P<v>[A-Za-z0-9+/]{20,})",
        None,
    ),
    rule(
        "discord-webhook",
        &["/api/webhooks/"],
        r"/api/webhooks/\d{15,20}/(?P<v>[A-Za-z0-9_-]{40,})",
        None,
    ),
    rule(
        "discord-token",
        &["."],
        r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        Entropy(3.5),
    ),
    rule(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
        Entropy(2.5),
    ),
    rule("anthropic-key", &["sk-ant-"], r"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20,}", None),
    rule("openrouter-key", &["sk-or-"], r"\bsk-or-v1-[0-9a-f]{64}", None),
    rule(
        "openai-key",
        &["sk-"],
        r"\bsk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}",
        Entropy(3.5),
    ),
    rule("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}", None),
    rule("xai-key", &["xai-"], r"\bxai-[A-Za-z0-9]{60,}", None),
    rule("perplexity-key", &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,}", None),
    rule("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9]{37,}", None),
    rule("huggingface-token", &["hf_"], r"\bhf_[A-Za-z0-9]{30,}\b", Entropy(3.0)),
    rule("google-api-key", &["aiza"], r"\bAIza[0-9A-Za-z_-]{35}", None),
    rule(
        "google-oauth",
        &["ya29.", "gocspx-"],
        r"\b(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{24,})",
        None,
    ),
    rule("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b", None),
    rule("pypi-token", &["pypi-"], r"\bpypi-[A-Za-z0-9_-]{50,}", None),
    rule("crates-token", &["cio"], r"\bcio[A-Za-z0-9]{32}\b", Entropy(3.5)),
    rule("docker-token", &["dckr_pat_", "dckr_oat_"], r"\bdckr_[po]at_[A-Za-z0-9_-]{24,}", None),
    rule("sendgrid-key", &["sg."], r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", None),
    rule("twilio-key", &["sk"], r"\bSK[0-9a-f]{32}\b", None),
    rule("mailgun-key", &["key-"], r"\bkey-[0-9a-f]{32}\b", None),
    rule("mailchimp-key", &["-us"], r"\b[0-9a-f]{32}-us[0-9]{1,2}\b", None),
    rule("telegram-token", &[":aa"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35}", None),
    rule(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
        None,
    ),
    rule("digitalocean-token", &["_v1_"], r"\bdo[oprt]_v1_[a-f0-9]{64}\b", None),
    rule("databricks-token", &["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d)?\b", None),
    rule("linear-key", &["lin_api_"], r"\blin_api_[A-Za-z0-9]{32,}", None),
    rule(
        "notion-token",
        &["ntn_", "secret_"],
        r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b",
        Entropy(3.5),
    ),
    rule("vault-token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_-]{24,}", None),
    rule(
        "terraform-token",
        &[".atlasv1."],
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        None,
    ),
    rule("tailscale-key", &["tskey-"], r"\btskey-[a-z]+-[A-Za-z0-9-]{16,}", None),
    rule(
        "grafana-token",
        &["glc_", "glsa_"],
        r"\b(?:glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})",
        None,
    ),
    rule("sentry-token", &["sntrys_", "sntryu_"], r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}", None),
    rule("newrelic-key", &["nrak-", "nrjs-"], r"\bNR(?:AK|JS)-[A-Za-z0-9]{19,32}\b", None),
    rule("postman-key", &["pmak-"], r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b", None),
    rule("figma-token", &["figd_"], r"\bfigd_[A-Za-z0-9_-]{30,}", None),
    rule(
        "planetscale-token",
        &["pscale_"],
        r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{30,}",
        None,
    ),
    rule("doppler-token", &["dp."], r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}", None),
    rule("dropbox-token", &["sl."], r"\bsl\.[A-Za-z0-9_-]{60,}", Entropy(4.0)),
    rule(
        "azure-storage-key",
        &["accountkey="],
        r"(?i:AccountKey)=(?P<v>[A-Za-z0-9+/]{40,}={0,2})",
        None,
    ),
    rule("azure-sas", &["sig="], r"[?&]sig=(?P<v>[A-Za-z0-9%+/]{30,}(?:=|%3[dD]){0,2})", None),
    rule(
        "url-password",
        &["://"],
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@<>]{0,64}:(?P<v>[^\s@/]{1,200})@",
        Url,
    ),
    rule(
        "authorization",
        &["authorization"],
        r"(?i)authorization['\x22]?\s*[:=]\s*['\x22]?(?:basic|bearer|token|digest)\s+(?P<v>[A-Za-z0-9._~+/=-]{8,})",
        None,
    ),
    rule("bearer-token", &["bearer"], r"(?i)\bbearer\s+(?P<v>[A-Za-z0-9._~+/=-]{16,})", Token),
    rule(
        "cookie",
        &["cookie"],
        r"(?i)\b(?:set-)?cookie['\x22]?\s*:\s*['\x22]?(?P<v>[\w!#$%&*.^|~-]+=[^\r\n'\x22]{6,})",
        None,
    ),
    rule(
        "session-cookie",
        &["sess", "sid=", "csrf"],
        r"(?i)\b(?:phpsessid|jsessionid|asp\.net_sessionid|session(?:_?id)?|connect\.sid|csrf_?token|xsrf-token|[a-z_]*_session)=(?P<v>[A-Za-z0-9%._+/:-]{16,})",
        Token,
    ),
    rule(
        "aws-secret-key",
        &["aws"],
        r"(?i)aws[a-z0-9_ .-]{0,24}(?:secret|key)[a-z0-9_ -]{0,24}['\x22]?\s*(?:[:=]|=>|is|ist)\s*['\x22]?(?P<v>[A-Za-z0-9/+]{40})\b",
        Entropy(3.5),
    ),
    rule(
        "command-password",
        &["-u", "--user", "--pass", "-p"],
        r"(?:\bcurl\b[^\n|;]{0,200}?\s(?:-u|--user)[ =]['\x22]?[^\s:'\x22]{1,64}:(?P<v>[^\s'\x22]{3,})|\s--pass(?:word|wd)?[ =]['\x22]?(?P<w>[^\s'\x22]{4,})|\b(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,100}?\s-p(?P<x>[^\s'\x22]{4,}))",
        Password,
    ),
    rule(
        "netrc",
        &["machine ", "login "],
        r"\b(?:machine\s+\S+\s+)?login\s+\S+\s+password\s+(?P<v>\S{4,})",
        None,
    ),
    rule(
        "password",
        &["passw", "pwd", "passphrase", "mot de passe", "kennwort", "pass="],
        r"(?i)(?:[a-z0-9]+[_.-])*(?:pass(?:word|wd|phrase|wort)?|pwd|kennwort|mot de passe)s?['\x22`]?\s*(?:=>|:=|[:=]|\s(?:is|ist|lautet|est|was)\b)\s*(?P<v>\x22[^\x22\n]{4,}\x22|'[^'\n]{4,}'|`[^`\n]{4,}`|[^\s'\x22`,;]{4,})",
        Password,
    ),
    rule(
        "secret-value",
        &["secret", "token", "key", "credential", "auth"],
        r"(?i)\b(?:[a-z0-9]+[_.-])*(?:(?:client|app|api|access|auth|private|secret|signing|encryption|session|refresh|id|bot|webhook|master|service|deploy|jwt)[_. -]?)*(?:secret|token|api[_. -]?key|access[_. -]?key|secret[_. -]?key|private[_. -]?key|signing[_. -]?key|encryption[_. -]?key|auth[_. -]?key|master[_. -]?key|credentials?)['\x22`]?\s*(?:=>|:=|[:=]|\s(?:is|ist|lautet|est|was)\b)\s*(?P<v>\x22[^\x22\s]{8,}\x22|'[^'\s]{8,}'|`[^`\s]{8,}`|[A-Za-z0-9_./+=~:-]{12,})",
        Token,
    ),
];
