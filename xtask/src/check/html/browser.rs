//! A browser without a screen, told what to do by the DevTools protocol over a pipe.

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The browser has this long for whatever it is told.
const PATIENCE: Duration = Duration::from_secs(120);

const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A browser with one page.
pub struct Browser {
    child: Child,
    orders: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// What went wrong in the page, or what it asked of the network.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Starts one with an empty profile in `folder`, and a window of this size.
    ///
    /// # Errors
    /// If there is no browser, or it does not answer.
    pub fn start(folder: &Path, width: u32, height: u32) -> Result<Browser> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // The browser hears on descriptor 3 and speaks on 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", "chromium"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("sh")?;
        let orders = child.stdin.take().context("no way to the browser")?;
        let answers = child.stdout.take().context("no way from the browser")?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let answers = BufReader::new(answers).split(0);
            for message in answers.map_while(|message| serde_json::from_slice(&message.ok()?).ok()) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser =
            Browser { child, orders, messages, session: None, last_id: 0, complaints: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached = browser
            .call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        browser.resize(width, height)?;
        Ok(browser)
    }

    /// Gives the window another size, in pixels.
    ///
    /// # Errors
    /// The browser's.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// Has the page see a light or a dark system.
    ///
    /// # Errors
    /// The browser's.
    pub fn prefer(&mut self, scheme: &str) -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features).map(drop)
    }

    /// Opens a file and waits until `ready` is true; says how long that took.
    ///
    /// # Errors
    /// If it is not in time.
    pub fn open(&mut self, file: &Path, ready: &str) -> Result<Duration> {
        let started = Instant::now();
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({"url": url}))?;
        self.wait(ready)?;
        Ok(started.elapsed())
    }

    /// The value of an expression in the page.
    ///
    /// # Errors
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        )?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("{expression}: {}", thrown["exception"]["description"]);
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until `condition` is true.
    ///
    /// # Errors
    /// If it does not become true in time.
    pub fn wait(&mut self, condition: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            // While a page is being replaced there may be nothing to ask.
            if self.evaluate(condition).is_ok_and(|value| value == true) {
                return Ok(());
            }
            ensure!(started.elapsed() < PATIENCE, "still not so after {PATIENCE:?}: {condition}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Clicks into the middle of the first element that `selector` names, as a mouse does.
    ///
    /// # Errors
    /// If there is none in view, or something else covers it.
    pub fn click(&mut self, selector: &str) -> Result<()> {
        let quoted = json!(selector);
        let place = self.evaluate(&format!(
            "(() => {{ const found = document.querySelector({quoted}); if (!found) return null; \
             found.scrollIntoView({{ block: 'nearest' }}); const box = found.getBoundingClientRect(); \
             const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]; \
             const hit = document.elementFromPoint(x, y); \
             return found.contains(hit) || hit?.contains(found) ? [x, y] : `covered by ${{hit?.outerHTML.slice(0, 99)}}`; }})()"
        ))?;
        let [x, y] = place.as_array().map(Vec::as_slice).unwrap_or_default() else {
            bail!("cannot click on {selector}: {place}");
        };
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let buttons = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({"type": kind, "x": x, "y": y, "button": buttons, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Types a text into what has the focus.
    ///
    /// # Errors
    /// The browser's.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({"text": text})).map(drop)
    }

    /// Presses a key, such as `Enter`, `ArrowDown` or `/`.
    ///
    /// # Errors
    /// The browser's.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let text = if key.len() == 1 {
            key
        } else if key == "Enter" {
            "\r"
        } else {
            ""
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "text": text}))?;
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key})).map(drop)
    }

    /// Saves what the window shows as a PNG file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn screenshot(&mut self, file: &Path) -> Result<()> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}))?;
        let picture = base64(answer["data"].as_str().unwrap_or_default())?;
        std::fs::write(file, picture).with_context(|| file.display().to_string())
    }

    /// Sends an order and waits for its answer.
    ///
    /// # Errors
    /// If the browser refuses, is gone, or takes too long.
    pub fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let mut order = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&order)?;
        bytes.push(0);
        self.orders.write_all(&bytes).and_then(|()| self.orders.flush()).context("the browser is gone")?;
        loop {
            let message = self.messages.recv_timeout(PATIENCE).map_err(|_| anyhow!("{method}: no answer"))?;
            if message["id"] == id {
                ensure!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.hear(&message);
        }
    }

    fn hear(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => {
                let details = &parameters["exceptionDetails"];
                self.complaints.push(format!("{} {}", details["text"], details["exception"]["description"]));
            }
            "Log.entryAdded" => self.complaints.push(parameters["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file://") && url != "about:blank" {
                    self.complaints.push(format!("the page asked for {url}"));
                }
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.call("Browser.close", json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes that a text in base 64 (RFC 4648) stands for.
fn base64(text: &str) -> Result<Vec<u8>> {
    let digit = |byte: u8| -> Result<u32> {
        Ok(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("no digit of base 64: {byte}"),
        }))
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            four.iter().try_fold(0, |bits, &byte| Ok::<u32, anyhow::Error>(bits << 6 | digit(byte)?))?;
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend(bits.to_be_bytes().iter().skip(1).take(four.len() - 1));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn base_64_of_the_standard() {
        // The examples of RFC 4648, section 10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(super::base64(text).unwrap(), bytes.as_bytes());
        }
    }
}
