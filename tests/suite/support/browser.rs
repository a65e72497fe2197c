//! A real browser without a window, driven over a pipe by the DevTools protocol: messages in JSON,
//! each ended by a zero byte. It is given no network and only files of the test.

use super::tools::tool;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A page in a browser.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    next: u64,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Opens `page`, or says that there is no browser.
    pub fn open(page: &str) -> Option<Self> {
        let program = tool(&["chromium", "chromium-browser", "google-chrome"], "the HTML report")?;
        let folder = tempfile::tempdir().unwrap();
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success());
        std::fs::write(folder.path().join("tick.html"), page).unwrap();
        let script = "exec \"$0\" --headless --remote-debugging-pipe --no-sandbox --disable-gpu \
             --disable-quic --no-first-run --disable-background-networking --disable-sync \
             --disable-component-update --host-resolver-rules='MAP * ~NOTFOUND' \
             --user-data-dir=\"$1/profile\" about:blank 3<\"$1/to\" 4>\"$1/from\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(&program)
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = OpenOptions::new().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let url = url(&folder.path().join("tick.html"));
        let mut browser =
            Self { child, to, from, session: String::new(), next: 0, _folder: folder };
        let target = browser.call("Target.createTarget", json!({"url": url}))["targetId"].clone();
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_string();
        browser.wait_for("document.readyState === 'complete' && location.protocol === 'file:'");
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert!(!bytes.is_empty(), "the browser ended during {method}");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(start.elapsed() < Duration::from_secs(30), "waited for {expression}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key as a person does.
    pub fn press(&mut self, key: &str, code: u32) {
        let text = if key == " " { " " } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({"type": kind, "key": key, "code": key, "text": text,
                "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Light or dark, as the system would ask for.
    pub fn scheme(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A screen of that many points.
    pub fn screen(&mut self, width: u32, height: u32, mobile: bool) {
        let params = json!({"width": width, "height": height, "mobile": mobile,
            "deviceScaleFactor": 1});
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// A picture of the page, PNG, in base64.
    pub fn picture(&mut self) -> String {
        let params = json!({"captureBeyondViewport": true});
        self.call("Page.captureScreenshot", params)["data"].as_str().unwrap().to_string()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\": 0, \"method\": \"Browser.close\"}\0");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}
