//! A web server on loopback that behaves as a test specifies, including incorrectly.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// What the server does with a connection after it has read the request.
pub enum Act {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Acts as a proxy for itself: opens a tunnel, reads the request that arrives through it, and
    /// then performs the act.
    Tunnel(Box<Self>),
    /// Performs the act when the test gives the signal, to simulate a slow answer.
    Late(Receiver<()>, Box<Self>),
    /// Sends nothing until the client closes the connection.
    Hang,
    /// Closes the connection without sending a byte.
    Cut,
    /// Sends the header and then a space at intervals, forever, so that no single read times out.
    Dribble,
}

impl Act {
    /// Returns an answer with a status, additional header lines (each with its `\r\n`) and a body.
    pub fn answer(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Send(
            format!(
                "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    }

    /// Returns an answer with status 200 and a body.
    pub fn ok(body: &str) -> Self {
        Self::answer("200 OK", "", body)
    }
}

/// A server that handles one connection for each act, in order, and then stops.
pub struct Server {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    requests: Receiver<String>,
}

impl Server {
    /// Starts a server that performs these acts.
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let acts: Vec<Act> = acts.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (sent, requests) = channel();
        thread::spawn(move || {
            for act in acts {
                let Ok((mut stream, _)) = listener.accept() else { return };
                perform(&act, &mut stream, &mut |request| {
                    // The test may have ended without reading the requests.
                    let _ = sent.send(request);
                });
            }
        });
        Self { url, requests }
    }

    /// Returns the requests received since the last call.
    pub fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// Reads a request, reports it, and answers. It is not an error if the client has closed the
/// connection.
fn perform(act: &Act, stream: &mut TcpStream, tell: &mut dyn FnMut(String)) {
    tell(read_request(stream));
    answer(act, stream, tell);
}

fn answer(act: &Act, stream: &mut TcpStream, tell: &mut dyn FnMut(String)) {
    match act {
        Act::Send(bytes) => {
            let _ = stream.write_all(bytes);
        }
        Act::Tunnel(act) => {
            if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok() {
                perform(act, stream, tell);
            }
        }
        Act::Late(word, act) => {
            // If the test has already ended, no signal arrives, and there is no answer.
            if word.recv().is_ok() {
                answer(act, stream, tell);
            }
        }
        Act::Hang => {
            let _ = stream.read(&mut [0; 1]);
        }
        Act::Cut => {}
        Act::Dribble => {
            let mut bytes: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
            while stream.write_all(bytes).is_ok() {
                bytes = b" ";
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if is_whole(&text) {
            return text;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return text,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
        }
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}
