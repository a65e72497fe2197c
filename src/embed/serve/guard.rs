//! Who may ask: loopback only, unless there is a token; never a page in a browser.

use crate::error::{Error, ExitCode, Result};
use axum::http::{HeaderMap, StatusCode, header};
use std::net::SocketAddr;

/// The address to listen on. One that others can reach is refused without a token.
pub fn check_address(address: &str, token: Option<&str>) -> Result<SocketAddr> {
    let parsed: SocketAddr = address.parse().map_err(|_| {
        Error::config(format!("`{address}` is not an address with a port"))
            .hint("write it like 127.0.0.1:52525")
    })?;
    if !parsed.ip().is_loopback() && token.is_none() {
        let message = format!("{address} can be reached from other machines");
        return Err(Error::new(ExitCode::Refused, message)
            .hint("name a variable that holds a secret with --token-env, or use 127.0.0.1"));
    }
    Ok(parsed)
}

/// What a request must show.
#[derive(Clone)]
pub(super) struct Guard {
    /// The address listened on.
    pub address: SocketAddr,
    /// Secret that each request must carry.
    pub token: Option<String>,
}

impl Guard {
    /// Refuses a request that does not come from a program on this machine or with the token.
    /// The host is checked since a page can point a name of its own at 127.0.0.1.
    pub fn check(&self, headers: &HeaderMap) -> std::result::Result<(), (StatusCode, String)> {
        if headers.contains_key(header::ORIGIN) {
            return Err((StatusCode::FORBIDDEN, "pages of a browser are not served".into()));
        }
        if let Some(token) = &self.token {
            let given = text(headers, header::AUTHORIZATION);
            let is_right = given.strip_prefix("Bearer ").is_some_and(|given| same(given, token));
            return if is_right { Ok(()) } else { Err(unauthorised()) };
        }
        let host = text(headers, header::HOST);
        if self.is_own_host(host) { Ok(()) } else { Err(wrong_host(host)) }
    }

    fn is_own_host(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        let name = name.trim_matches(['[', ']']);
        name == "localhost" || name.parse() == Ok(self.address.ip())
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Equality that takes the same time wherever the texts differ.
fn same(a: &str, b: &str) -> bool {
    blake3::hash(a.as_bytes()) == blake3::hash(b.as_bytes())
}

fn unauthorised() -> (StatusCode, String) {
    (StatusCode::UNAUTHORIZED, "a token is needed: Authorization: Bearer …".into())
}

fn wrong_host(host: &str) -> (StatusCode, String) {
    (StatusCode::FORBIDDEN, format!("`{host}` is not this server's host"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("a header")))
            .collect()
    }

    #[test]
    fn a_reachable_address_needs_a_token() {
        assert!(check_address("127.0.0.1:0", None).is_ok());
        assert!(check_address("[::1]:0", None).is_ok());
        let error = check_address("0.0.0.0:52525", None).expect_err("refused");
        assert_eq!(error.code, ExitCode::Refused);
        assert!(check_address("0.0.0.0:52525", Some("secret")).is_ok());
    }

    #[test]
    fn a_foreign_host_and_a_browser_are_refused() {
        let address = "127.0.0.1:52525".parse().expect("an address");
        let guard = Guard { address, token: None };
        assert!(guard.check(&headers(&[(header::HOST, "127.0.0.1:52525")])).is_ok());
        assert!(guard.check(&headers(&[(header::HOST, "localhost")])).is_ok());
        assert!(guard.check(&headers(&[(header::HOST, "evil.example:52525")])).is_err());
        assert!(guard.check(&headers(&[])).is_err());
        let page = [(header::HOST, "localhost"), (header::ORIGIN, "https://evil.example")];
        assert!(guard.check(&headers(&page)).is_err());
    }

    #[test]
    fn with_a_token_it_is_the_token_that_counts() {
        let address = "0.0.0.0:52525".parse().expect("an address");
        let guard = Guard { address, token: Some("s3cret".into()) };
        let given = |value| headers(&[(header::HOST, "box:1"), (header::AUTHORIZATION, value)]);
        assert!(guard.check(&given("Bearer s3cret")).is_ok());
        assert!(guard.check(&given("Bearer other")).is_err());
        assert!(guard.check(&headers(&[(header::HOST, "127.0.0.1")])).is_err());
    }
}
