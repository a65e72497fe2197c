//! Pages by `add-url`, through the binary, from a server of our own on loopback.

use crate::support::Home;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Answers each connection with what `reply` makes of the path, until the process ends.
struct Site {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Site {
    fn start(reply: impl Fn(&str, SocketAddr, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let reply = Arc::new(reply);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
                let reply = Arc::clone(&reply);
                std::thread::spawn(move || answer(stream, address, &*reply));
            }
        });
        Self { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(
    mut stream: TcpStream,
    address: SocketAddr,
    reply: &dyn Fn(&str, SocketAddr, &mut TcpStream),
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    let _ = reader.read_line(&mut first);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        line.clear();
    }
    reply(first.split(' ').nth(1).unwrap_or("/"), address, &mut stream);
}

fn send(stream: &mut TcpStream, status: &str, kind: &str, more: &str, body: &str) {
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}connection: close\r\n\r\n{body}"
    );
}

const ALLOWED: [&str; 2] = ["--set", "documents.private_addresses=true"];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    args.iter().chain(more).copied().collect()
}

/// On one line: what is said is folded to the width of a terminal.
fn flat(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn page() -> String {
    let filler = "The harbor keeps a berth buffer for large ships at all times, in any weather, \
                  because pilots asked for it after the storm of last winter. "
        .repeat(5);
    format!(
        "<!doctype html><html><head><title>Berths</title><style>p {{}}</style>\
         <script>track('visitor')</script></head><body>\
         <nav><ul><li><a href='/'>Home</a></li><li><a href='/shop'>Shop</a></li></ul></nav>\
         <main><article><h1>Berths</h1><p>{filler}</p><h2>Rules</h2>\
         <ul><li>forty metres between ships</li><li>two tugs above Beaufort 6</li></ul>\
         <pre><code class=\"language-rust\">let buffer = 40;\nassert!(buffer &gt; 0);</code></pre>\
         <h3>Ships</h3><table><tr><th>Ship</th><th>Length</th></tr>\
         <tr><td>Ada</td><td>120</td></tr><tr><td>Grace</td><td>95</td></tr></table>\
         <p>{filler}</p></article></main>\
         <form action='/subscribe'><input name='mail'><button>Subscribe now</button></form>\
         <footer><a href='/imprint'>Imprint</a></footer></body></html>"
    )
}

#[test]
fn a_page_is_stored_as_markdown_with_its_structure() {
    let site = Site::start(|path, _, stream| match path {
        "/berths" => send(stream, "200 OK", "text/html; charset=utf-8", "", &page()),
        "/plain" => send(stream, "200 OK", "text/markdown", "", "# Tides\n\n- ebb\n- flood\n"),
        "/image" => send(stream, "200 OK", "image/png", "", "PNG"),
        _ => send(stream, "404 Not Found", "text/plain", "", "no"),
    });
    let home = Home::new();
    let url = site.url("/berths#rules");
    let added = home.json(&with(&["add-url", &url], &ALLOWED));
    assert_eq!((&added[0]["outcome"], &added[0]["title"]), (&"added".into(), &"Berths".into()));
    let id = added[0]["id"].as_str().unwrap();
    let text = home.run(&["documents", "show", id]).success().out;
    for kept in [
        "## Rules",
        "### Ships",
        "forty metres between ships",
        "two tugs above Beaufort 6",
        "let buffer = 40;\nassert!(buffer > 0);",
        "| Ada",
        "| 95",
        "asked for it after the storm",
    ] {
        assert!(text.contains(kept), "{kept} is missing in\n{text}");
    }
    for gone in ["track(", "Shop", "Subscribe", "Imprint", "p {}"] {
        assert!(!text.contains(gone), "{gone} is in\n{text}");
    }
    let listed = home.json(&["documents"]);
    assert_eq!(listed[0]["source"], site.url("/berths"));
    assert_eq!(listed[0]["origin"], "url");
    let found = home.json(&["search", "how many tugs"]);
    assert_eq!(found["results"][0]["document"], id);
    assert_eq!(home.json(&with(&["add-url", &url], &ALLOWED))[0]["outcome"], "unchanged");

    let plain = home.json(&with(&["add-url", &site.url("/plain")], &ALLOWED));
    assert_eq!(plain[0]["title"], "Tides");
    for (path, why) in [("/image", "is no text"), ("/missing", "404")] {
        let refused = home.run(&with(&["add-url", &site.url(path)], &ALLOWED)).code(8);
        assert!(flat(&refused.err).contains(why), "{}", refused.err);
    }
    assert_eq!(home.json(&["documents"]).as_array().unwrap().len(), 2);
}

#[test]
fn private_addresses_are_never_asked_unless_allowed() {
    let site = Site::start(|_, _, stream| send(stream, "200 OK", "text/html", "", &page()));
    let home = Home::new();
    let port = site.address.port();
    for url in [
        site.url("/"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
    ] {
        let refused = home.run(&["add-url", &url]).code(7);
        assert!(
            flat(&refused.err).contains("loopback, private or reserved"),
            "{url}: {}",
            refused.err
        );
        assert!(flat(&refused.err).contains("documents.private_addresses"), "{}", refused.err);
    }
    assert_eq!(site.asked(), 0);
    home.run(&["add-url", "file:///etc/passwd"]).code(7);
    assert_eq!(home.json(&["documents"]), Value::Array(Vec::new()));
}

#[test]
fn redirects_are_refused_unless_allowed_and_each_is_checked() {
    let site = Site::start(|path, address, stream| {
        let to = match path {
            "/one" => format!("http://{address}/two"),
            "/two" => "/berths".into(),
            "/round" => "/round".into(),
            "/out" => "file:///etc/passwd".into(),
            _ => return send(stream, "200 OK", "text/html", "", &page()),
        };
        send(stream, "302 Found", "text/html", &format!("location: {to}\r\n"), "");
    });
    let home = Home::new();
    let add = |path: &str, more: &[&str]| {
        let url = site.url(path);
        let mut args = with(&["add-url", &url], &ALLOWED);
        args.extend(more);
        home.run(&args)
    };
    let refused = add("/one", &[]).code(7);
    assert!(
        flat(&refused.err).contains("it redirects") && refused.err.contains("/two"),
        "{}",
        refused.err
    );
    let once = ["--set", "documents.redirects=1"];
    assert!(flat(&add("/one", &once).code(7).err).contains("more often"));
    assert!(flat(&add("/round", &once).code(7).err).contains("more often"));
    assert!(flat(&add("/out", &once).code(7).err).contains("only http and https"));
    add("/one", &["--set", "documents.redirects=2"]).success();
    // The document is known by the address that was asked for.
    assert_eq!(home.json(&["documents"])[0]["source"], site.url("/one"));
}

#[test]
fn size_and_time_are_bounded() {
    let site = Site::start(|path, _, stream| {
        if path == "/slow" {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
            for _ in 0..100 {
                if stream.write_all(b".").is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        } else {
            // No length is stated, so only what arrives can tell.
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
            let block = [b'x'; 1 << 16];
            while stream.write_all(&block).is_ok() {}
        }
    });
    let home = Home::new();
    let large = site.url("/large");
    let refused =
        home.run(&with(&["add-url", &large, "--set", "documents.max_bytes=100000"], &ALLOWED));
    assert!(flat(&refused.code(8).err).contains("documents.max_bytes"));
    let slow = site.url("/slow");
    let start = Instant::now();
    let refused =
        home.run(&with(&["add-url", &slow, "--set", "documents.timeout_seconds=1"], &ALLOWED));
    assert!(flat(&refused.code(8).err).contains("documents.timeout_seconds"));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert_eq!(home.json(&["documents"]), Value::Array(Vec::new()));
}
