//! Pages from the network: http and https only, public addresses only, bounded in time and size.
//!
//! The address is checked where the connection is made: names are resolved by [`PublicOnly`], which
//! hands out public addresses alone, so a name that points inside, or comes to do so between a check
//! and the request, reaches nothing. Redirects are refused unless `documents.redirects` allows some,
//! and each of them is checked like the first address. No proxy is used and no cookie is kept.

use crate::config::DocumentSettings;
use crate::error::{Error, ExitCode, Result};
use reqwest::blocking::{Client, Response};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Url, header};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A page as it came.
#[derive(Clone, Debug)]
pub struct Page {
    /// The address asked for, without its fragment.
    pub url: String,
    /// It is HTML; otherwise it is text or Markdown.
    pub is_html: bool,
    /// Its text.
    pub body: String,
}

/// Fetches the page at `url`.
pub fn fetch(url: &str, settings: &DocumentSettings) -> Result<Page> {
    let client = client(settings)?;
    let until = Instant::now() + Duration::from_secs(settings.timeout_seconds);
    let mut address = parse(url, settings)?;
    let asked = without_fragment(&address);
    for _ in 0..=settings.redirects {
        let response = client.get(address.clone()).send().map_err(|error| failed(url, &error))?;
        match redirect(&response, &address) {
            Some(next) if settings.redirects > 0 => address = parse(&next?, settings)?,
            Some(next) => {
                let hint = format!("give {} itself, or raise documents.redirects", next?);
                return Err(refused(url, "it redirects").hint(hint));
            }
            None => return page(asked, response, settings, until),
        }
    }
    Err(refused(url, "it redirects more often than documents.redirects"))
}

fn client(settings: &DocumentSettings) -> Result<Client> {
    let mut builder = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .timeout(Duration::from_secs(settings.timeout_seconds))
        .connect_timeout(Duration::from_secs(settings.timeout_seconds.min(10)))
        .user_agent(concat!("lifecycle/", env!("CARGO_PKG_VERSION")));
    if !settings.private_addresses {
        builder = builder.dns_resolver(Arc::new(PublicOnly));
    }
    builder.build().map_err(|error| Error::new(ExitCode::Failure, format!("HTTP: {error}")))
}

/// The address, if it is one that may be asked.
fn parse(url: &str, settings: &DocumentSettings) -> Result<Url> {
    let address = Url::parse(url).map_err(|error| unusable(url, &error.to_string()))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(refused(url, "only http and https are fetched"));
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err(refused(url, "it carries a user name or password"));
    }
    // Addresses in numbers are never resolved, so they are checked here.
    let host = address.host_str().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if !settings.private_addresses && number.is_ok_and(|address| !is_public(address)) {
        return Err(private(url));
    }
    Ok(address)
}

fn without_fragment(address: &Url) -> String {
    let mut address = address.clone();
    address.set_fragment(None);
    address.to_string()
}

fn redirect(response: &Response, from: &Url) -> Option<Result<String>> {
    if !response.status().is_redirection() {
        return None;
    }
    let target = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let target = target.and_then(|target| from.join(target).ok());
    Some(target.map(String::from).ok_or_else(|| unusable(from.as_str(), "it redirects nowhere")))
}

fn page(
    url: String,
    response: Response,
    settings: &DocumentSettings,
    until: Instant,
) -> Result<Page> {
    if !response.status().is_success() {
        return Err(unusable(&url, &format!("the server answers {}", response.status())));
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.unwrap_or("text/html").split(';').next().unwrap_or("").trim().to_lowercase();
    let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    if !is_html && !kind.starts_with("text/") {
        return Err(unusable(&url, &format!("`{kind}` is no text")));
    }
    let bytes = body(&url, response, settings, until)?;
    Ok(Page { url, is_html, body: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The client's own limit holds for each read, so a server that sends a byte now and then would hold
/// the call for ever; the time of the whole is looked at between reads.
fn body(
    url: &str,
    response: Response,
    settings: &DocumentSettings,
    until: Instant,
) -> Result<Vec<u8>> {
    let mut rest = response.take(settings.max_bytes + 1);
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let count = rest.read(&mut block).map_err(|error| unusable(url, &error.to_string()))?;
        if count == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&block[..count]);
        if bytes.len() as u64 > settings.max_bytes {
            return Err(unusable(url, "it is larger than documents.max_bytes"));
        }
        if Instant::now() > until {
            return Err(unusable(url, "it takes longer than documents.timeout_seconds"));
        }
    }
}

/// Resolves names to public addresses alone.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = (name.as_str(), 0).to_socket_addrs()?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(format!("{PRIVATE}: {}", name.as_str()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

const PRIVATE: &str = "the address is loopback, private or reserved";

/// Whether an address belongs to the public network (IANA special-purpose registries, RFC 6890).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224.., ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let last = || {
        let [a, b] = parts[6].to_be_bytes();
        let [c, d] = parts[7].to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // An IPv4 address in IPv6 clothes: mapped, translated (NAT64).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(last()),
        // 6to4 carries an IPv4 address in front.
        [0x2002, high, low, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        [0x2001, 0x0000..=0x01ff | 0x0db8, ..] => false,
        // Only 2000::/3 is given out.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// What comes from the address is nothing that can be stored.
fn unusable(url: &str, why: &str) -> Error {
    Error::input(format!("{url} cannot be used: {why}"))
}

/// The settings do not allow to ask there.
fn refused(url: &str, why: &str) -> Error {
    Error::refused(format!("{url} is not fetched: {why}"))
}

fn private(url: &str) -> Error {
    refused(url, PRIVATE).hint("documents.private_addresses = true allows such addresses")
}

fn failed(url: &str, error: &reqwest::Error) -> Error {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(inner) = source {
        last = inner.to_string();
        if last.contains(PRIVATE) {
            return private(url);
        }
        source = inner.source();
    }
    unusable(url, &last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_inside_are_known_in_every_clothing() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.20.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "::127.0.0.1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn odd_spellings_of_loopback_are_refused() {
        let settings = crate::config::Layers::defaults().settings().unwrap().documents;
        for url in [
            "http://127.0.0.1/x",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "file:///etc/passwd",
            "ftp://example.org/",
            "http://user:pw@example.org/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://0300.0250.0.1/",
            "http://127.0.0.1./",
            "http://[::ffff:10.0.0.1]/",
            "http://[::]/",
            "http://[fe80::1]/",
            "http://[64:ff9b::169.254.169.254]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://0/",
            "http://127。0。0。1/",
            "http://①②⑦.0.0.1/",
            "gopher://127.0.0.1/",
            "data:text/html,x",
        ] {
            assert!(parse(url, &settings).is_err(), "{url}");
        }
        for name in ["localhost", "LOCALHOST", "localhost.", "x.localhost"] {
            let named = fetch(&format!("http://{name}:9/"), &settings).unwrap_err();
            // A resolver that knows no such name refuses as well.
            let refused = named.message.contains("loopback")
                || named.message.contains("resolve")
                || named.message.contains("lookup");
            assert!(refused, "{name}: {}", named.message);
        }
    }

    /// A server that answers every request with a redirect to `target`.
    fn redirecting(target: &str) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = target.to_string();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 2048]);
                let _ = write!(
                    stream,
                    "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
            }
        });
        format!("http://{address}/")
    }

    /// The check of each hop, with the first one allowed: addresses, schemes, names, loops.
    #[test]
    fn a_redirect_is_checked_like_the_first_address() {
        let mut settings = crate::config::Layers::defaults().settings().unwrap().documents;
        settings.redirects = 3;
        settings.private_addresses = true;
        for target in ["file:///etc/passwd", "ftp://example.org/", "http://user:pw@127.0.0.1/"] {
            let error = fetch(&redirecting(target), &settings).unwrap_err();
            assert_eq!(error.code, crate::ExitCode::Refused, "{target}: {}", error.message);
        }
        let error = fetch(&redirecting("/again"), &settings).unwrap_err();
        assert!(error.message.contains("more often"), "{}", error.message);
        // The address of a hop goes through `parse`, whose answer for private ones is tested above;
        // here with them forbidden, the very first is refused.
        settings.private_addresses = false;
        let error = fetch(&redirecting("http://127.0.0.1/"), &settings).unwrap_err();
        assert_eq!(error.code, crate::ExitCode::Refused);
        settings.private_addresses = true;
        settings.redirects = 0;
        let error = fetch(&redirecting("http://127.0.0.1/"), &settings).unwrap_err();
        assert!(error.message.contains("redirects"), "{}", error.message);
    }
}
