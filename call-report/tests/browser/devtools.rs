//! A real browser without a screen, driven through its DevTools protocol: real clicks,
//! keys and turns of the wheel.

use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

const PROGRAMS: [&str; 2] = ["chromium-headless-shell", "chromium"];
/// Longest wait for anything of the browser's.
const PATIENCE: Duration = Duration::from_secs(60);
/// The file in which a browser says where it listens.
const PORT_FILE: &str = "DevToolsActivePort";

/// A browser with one page; it ends with this.
pub struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    page: Option<String>,
    commands: u64,
    /// What the page's scripts reported as errors.
    pub errors: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; none if none is installed.
    pub fn start() -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let Some(process) = PROGRAMS.iter().find_map(|it| spawn(it, profile.path())) else {
            gil_need::skip("chromium-headless-shell", "no browser is installed");
            return None;
        };
        let address = address(&profile.path().join(PORT_FILE));
        let (socket, _) = tungstenite::connect(address).unwrap();
        let mut browser = Self {
            process,
            socket,
            page: None,
            commands: 0,
            errors: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let made = self.command("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.command("Target.attachToTarget", &target);
        self.page = Some(attached["sessionId"].as_str().unwrap().into());
        for domain in ["Page", "Runtime", "Log"] {
            self.command(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Executes a command and returns its result.
    pub fn command(&mut self, method: &str, params: &Value) -> Value {
        self.commands += 1;
        let id = self.commands;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(page) = &self.page {
            message["sessionId"] = page.as_str().into();
        }
        let message = Message::text(message.to_string());
        self.socket.send(message).unwrap();
        let answer = self.until(|it| it["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Reads messages up to one.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else {
                continue;
            };
            let message: Value = serde_json::from_str(&text).unwrap();
            let method = message["method"].as_str();
            if matches!(method, Some("Runtime.exceptionThrown" | "Log.entryAdded")) {
                self.errors.push(message["params"].to_string());
            }
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Opens a file; how long it took until all of it was loaded.
    pub fn open(&mut self, path: &Path) -> Duration {
        let begun = Instant::now();
        let url = format!("file://{}", path.display());
        self.command("Page.navigate", &json!({ "url": url }));
        while self.value("document.readyState") != "complete" {
            assert!(begun.elapsed() < PATIENCE, "{url} does not load");
        }
        begun.elapsed()
    }

    /// What an expression is on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.command("Runtime.evaluate", &params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// The page's size in CSS pixels, and whether it is dark.
    pub fn look(&mut self, (width, height): (u32, u32), dark: bool) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &size);
        let value = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.command("Emulation.setEmulatedMedia", &media);
    }

    /// The middle of an element, which is scrolled to.
    pub fn middle(&mut self, element: &str) -> (f64, f64) {
        let of = format!(
            "(() => {{ const it = {element}; it.scrollIntoView({{block: 'center', inline: 'center'}}); \
             const r = it.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        );
        let at = self.value(&of);
        (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
    }

    /// Clicks an element so many times in a row.
    pub fn click(&mut self, element: &str, times: u32) {
        let at = self.middle(element);
        for count in 1..=times {
            self.mouse(
                "mousePressed",
                at,
                &json!({"button": "left", "clickCount": count}),
            );
            self.mouse(
                "mouseReleased",
                at,
                &json!({"button": "left", "clickCount": count}),
            );
        }
    }

    /// Turns the wheel there.
    pub fn wheel(&mut self, at: (f64, f64), turns: f64) {
        self.mouse("mouseWheel", at, &json!({"deltaX": 0, "deltaY": turns}));
    }

    /// Moves the pointer from one place to another with the button held.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse(
            "mousePressed",
            from,
            &json!({"button": "left", "clickCount": 1}),
        );
        self.mouse("mouseMoved", to, &json!({"button": "left", "buttons": 1}));
        self.mouse(
            "mouseReleased",
            to,
            &json!({"button": "left", "clickCount": 1}),
        );
    }

    /// An event of the mouse's.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: &Value) {
        let mut params = json!({"type": kind, "x": x, "y": y});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        self.command("Input.dispatchMouseEvent", &params);
    }

    /// Types text where the focus is.
    pub fn type_text(&mut self, text: &str) {
        self.command("Input.insertText", &json!({ "text": text }));
    }

    /// Presses a key where the focus is.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.command("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
    }

    /// Writes a picture of the whole page.
    pub fn picture(&mut self, path: &Path) {
        let whole = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.command("Page.captureScreenshot", &whole);
        let data = answer["data"].as_str().unwrap().as_bytes();
        fs::write(path, data_encoding::BASE64.decode(data).unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.page = None;
        // It ends its own processes; Debian's command is a script before them.
        let end = json!({"id": 0, "method": "Browser.close"}).to_string();
        let _ = self.socket.send(Message::text(end));
        let begun = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(program: &str, profile: &Path) -> Option<Child> {
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
    ]);
    command.args(["--remote-debugging-port=0", "--no-first-run", "about:blank"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

/// Where a browser listens, once it does.
fn address(file: &Path) -> String {
    let begun = Instant::now();
    loop {
        let said = fs::read_to_string(file).unwrap_or_default();
        if let Some((port, path)) = said.split_once('\n').filter(|(_, path)| !path.is_empty()) {
            return format!("ws://127.0.0.1:{port}{}", path.trim_end());
        }
        assert!(begun.elapsed() < PATIENCE, "the browser does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
