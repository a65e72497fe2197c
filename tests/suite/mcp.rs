//! The MCP server as a client sees it: JSON-RPC over standard input and output, and over HTTP.

use crate::support::Home;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A running server and the client's end of it.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Client {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut all = vec!["mcp"];
        all.extend(args);
        let mut child = home
            .command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, next: 0 };
        let hello = client.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["serverInfo"]["name"], "lifecycle");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    /// Every line of standard output must be protocol.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server went away");
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The structured result of a call that must not fail.
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    fn tools(&mut self) -> Vec<(String, bool)> {
        let listed = self.request("tools/list", json!({}));
        let mut tools: Vec<(String, bool)> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                let name = tool["name"].as_str().unwrap().to_string();
                assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
                (name, tool["annotations"]["readOnlyHint"].as_bool().unwrap())
            })
            .collect();
        tools.sort();
        tools
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn write_tools_are_offered_only_where_the_setting_allows_it() {
    let home = Home::new();
    let reading = ["brief", "get", "list_docs", "projects", "search", "status", "why"];
    let mut client = Client::start(&home, &[]);
    assert_eq!(client.tools(), reading.map(|name| (name.to_string(), true)));
    let refused = client.next + 1;
    client.next = refused;
    let call = json!({"name": "add_text", "arguments": {"content": "x"}});
    client.send(&json!({"jsonrpc": "2.0", "id": refused, "method": "tools/call", "params": call}));
    let mut line = String::new();
    client.output.read_line(&mut line).unwrap();
    let message: Value = serde_json::from_str(&line).unwrap();
    assert!(message.get("error").is_some() || message["result"]["isError"] == true, "{message}");

    let mut writing = Client::start(&home, &["--set", "mcp.allow_write=true"]);
    let tools = writing.tools();
    assert_eq!(tools.len(), 12);
    for (name, read_only) in tools {
        assert_eq!(read_only, reading.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_document_goes_in_is_found_changed_and_deleted() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--set", "mcp.allow_write=true"]);
    let text = "# Berths\n\nThe berth buffer is 40 metres.";
    let added =
        client.done("add_text", json!({"content": text, "name": "berths", "tags": ["harbor"]}));
    assert_eq!(added["outcome"], "added");
    let id = added["id"].as_str().unwrap();
    let found = client.done("search", json!({"query": "berth buffer", "tags": ["harbor"]}));
    assert_eq!(found["results"][0]["document"], id);
    assert_eq!(found["results"][0]["truncated"], false);
    let hit = found["results"][0]["id"].as_str().unwrap();
    assert_eq!(client.done("get", json!({"id": hit}))["text"], text);
    let listed = client.done("list_docs", json!({}));
    assert_eq!(listed["documents"][0]["title"], "Berths");

    let updated = client.done("update", json!({"id": id, "text": "# Berths\n\nNow 50 metres."}));
    assert_eq!(updated["outcome"], "replaced");
    assert_eq!(updated["id"], id);
    let found = client.done("search", json!({"query": "buffer metres"}));
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert!(found["results"][0]["text"].as_str().unwrap().contains("50 metres"));

    client.done("delete", json!({"id": id}));
    let found = client.done("search", json!({"query": "berth"}));
    assert_eq!(found["results"], json!([]));
    let gone = client.call("get", json!({"id": id}));
    assert_eq!(gone["isError"], true);
}

#[test]
fn files_outside_the_allowed_folders_are_refused_with_the_rule() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--set", "mcp.allow_write=true"]);
    std::fs::write(home.project().join("notes.md"), "text").unwrap();
    let outside = home.project().join("notes.md").display().to_string();
    let refused = client.call("add_file", json!({"content": outside}));
    assert_eq!(refused["isError"], true);
    let message = refused["structuredContent"]["error"].as_str().unwrap();
    assert!(message.contains("allowed_roots"), "{message}");
    let inside = home.path().join("home/notes.md");
    std::fs::write(&inside, "# Inside\n\ntext").unwrap();
    let added = client.done("add_file", json!({"content": inside.display().to_string()}));
    assert_eq!(added["title"], "Inside");
    let refused = client.call("add_url", json!({"content": "http://127.0.0.1:9/"}));
    assert!(refused["structuredContent"]["error"].as_str().unwrap().contains("loopback"));
}

#[test]
fn entries_are_explained_and_briefed_by_several_servers_at_once() {
    let home = Home::new();
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, "--kind", "decision", "Ports start at 8000"])
        .success();
    let mut clients: Vec<Client> = (0..3).map(|_| Client::start(&home, &[])).collect();
    for client in &mut clients {
        let found = client.done("search", json!({"query": "ports", "project": project}));
        let id = found["results"][0]["id"].clone();
        let why = client.done("why", json!({"id": id}));
        assert_eq!(why["history"][0]["step"], "admit");
        let brief = client.done("brief", json!({"project": project}));
        let text = brief["text"].as_str().unwrap();
        assert!(text.starts_with("<lifecycle-memory>") && text.contains("8000"), "{text}");
        let projects = client.done("projects", json!({}));
        assert_eq!(projects["projects"][0]["entries"], 1);
        assert!(client.done("status", json!({})).get("states").is_some());
    }
}

#[test]
fn the_model_is_used_once_it_is_loaded() {
    let home = Home::new();
    let mut client = Client::start(&home, &["--set", "mcp.allow_write=true"]);
    // A status call answers whether or not the model is there yet; ask until it is.
    let ready = (0..2000).any(|_| client.done("status", json!({}))["model"]["ready"] == true);
    assert!(ready, "the model never became ready");
    let added = client.done("add_text", json!({"content": "Backups run every night at two"}));
    assert!(added.get("note").is_none(), "{added}");
    let found = client.done("search", json!({"query": "when is data saved to the archive"}));
    assert_eq!(found["mode"], "hybrid");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
}

#[test]
fn http_answers_loopback_only() {
    let home = Home::new();
    home.run(&["mcp", "--http", "0.0.0.0:0"]).code(3);
    let mut child = home
        .command(&["mcp", "--http", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().rsplit(' ').next().unwrap().to_string();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let client = reqwest::blocking::Client::new();
    let post = |headers: &[(&str, &str)]| {
        let mut request =
            client.post(&url).header("accept", "application/json, text/event-stream").json(&hello);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().unwrap()
    };
    let answer = post(&[]);
    assert!(answer.status().is_success(), "{}", answer.status());
    assert!(answer.text().unwrap().contains("\"lifecycle\""));
    assert!(post(&[("host", "evil.example")]).status().is_client_error());
    assert!(post(&[("origin", "https://evil.example")]).status().is_client_error());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn many_servers_write_to_one_store_at_once() {
    let home = Home::new();
    let count = 6;
    let mut clients: Vec<Client> =
        (0..count).map(|_| Client::start(&home, &["--set", "mcp.allow_write=true"])).collect();
    std::thread::scope(|scope| {
        for (at, client) in clients.iter_mut().enumerate() {
            scope.spawn(move || {
                for n in 0..5 {
                    let text = format!("# Note {at}.{n}\n\nmooring line {at} number {n}");
                    let added = client.done("add_text", json!({"content": text}));
                    assert_eq!(added["outcome"], "added");
                    let found =
                        client.done("search", json!({"query": format!("mooring {at}.{n}")}));
                    assert!(!found["results"].as_array().unwrap().is_empty());
                }
            });
        }
    });
    for client in &mut clients {
        let listed = client.done("list_docs", json!({}));
        assert_eq!(listed["documents"].as_array().unwrap().len(), count * 5);
        let found = client.done("search", json!({"query": "mooring line", "k": 100}));
        assert_eq!(found["results"].as_array().unwrap().len(), count * 5);
    }
}

/// A server whose model never answers: an address that takes connections and says nothing.
#[test]
fn answers_come_while_the_model_loads_and_standard_output_is_protocol_alone() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("embed.url=http://{}", silent.local_addr().unwrap());
    let home = Home::new();
    home.run(&["add", "Ports start at 8000"]).success();
    let start = std::time::Instant::now();
    // Each line of output is checked to be protocol by the client itself.
    let mut client =
        Client::start(&home, &["-vv", "--set", &url, "--set", "embed.timeout_seconds=300"]);
    let found = client.done("search", json!({"query": "ports"}));
    assert_eq!(found["mode"], "lexical");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert!(found["notes"].to_string().contains("still loading"), "{found}");
    let status = client.done("status", json!({}));
    assert_eq!(status["model"]["ready"], false);
    assert_eq!(status["reranker"]["reason"], "none is set");
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn what_is_not_protocol_is_answered_with_an_error_or_nothing() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "method": "no/such", "params": {}}));
    let mut line = String::new();
    client.output.read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert!(answer.get("error").is_some(), "{answer}");
    // The server goes on.
    client.next = 100;
    assert_eq!(client.done("list_docs", json!({}))["documents"], json!([]));
}

/// Sends lines and closes the input at once; every line that comes back.
fn answers(home: &Home, lines: &[String]) -> Vec<Value> {
    let mut child = home
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        // The last line may lack its end.
        let end = if line == lines.last().unwrap() { "" } else { "\n" };
        input.write_all(format!("{line}{end}").as_bytes()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hello() -> [String; 2] {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "test", "version": "1"}});
    [
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
    .map(|message| message.to_string())
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_next_one_served() {
    let home = Home::new();
    let mut lines = hello().to_vec();
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    lines.extend(["this is no JSON".into(), ping(1), "{\"jsonrpc\": \"2.0\", \"id\": 2,".into()]);
    lines.extend(["[1, 2]".into(), "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": 5}".into()]);
    lines.extend([String::new(), ping(4)]);
    let answered = answers(&home, &lines);
    let failed: Vec<(Value, i64)> = answered
        .iter()
        .filter_map(|answer| Some((answer["id"].clone(), answer["error"]["code"].as_i64()?)))
        .collect();
    let wanted =
        [(Value::Null, -32700), (Value::Null, -32700), (Value::Null, -32600), (json!(3), -32600)];
    assert_eq!(failed, wanted, "{answered:?}");
    for id in [json!("hello"), json!(1), json!(4)] {
        let answer = answered.iter().find(|answer| answer["id"] == id);
        assert!(answer.is_some_and(|answer| answer.get("result").is_some()), "{id}: {answered:?}");
    }
}

#[test]
fn what_was_asked_is_answered_although_the_input_is_closed() {
    let home = Home::new();
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, "Ports start at 8000"]).success();
    let mut lines = hello().to_vec();
    for id in 0..20 {
        let params = json!({"name": "search", "arguments": {"query": "ports"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        lines.push(call.to_string());
    }
    let answered = answers(&home, &lines);
    for id in 0..20 {
        let answer = answered.iter().find(|answer| answer["id"] == id).unwrap();
        let found = &answer["result"]["structuredContent"]["results"][0]["text"];
        assert_eq!(found, "Ports start at 8000", "{answer}");
    }
}
