//! One HTTP request to the driver, one JSON answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::error::Error;

/// The longest answer that is read, in bytes: a screenshot of a large page has a few megabytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Sends `body` and gives the `value` of the answer. Waits at most `limit` for each piece of it.
pub(crate) fn call(
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
    limit: Duration,
) -> Result<Value, Error> {
    let request = || format!("{method} {path}");
    let (status, text) = exchange(port, method, path, body, limit)
        .map_err(|source| Error::Connection { request: request(), source })?;
    let mut answer: Value = serde_json::from_slice(&text)
        .map_err(|e| Error::Connection { request: request(), source: io::Error::other(e) })?;
    let value = answer["value"].take();
    if status == 200 {
        return Ok(value);
    }
    let said = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    Err(Error::Refused { request: request(), kind: said("error"), message: said("message") })
}

/// The status and the body of the answer.
fn exchange(
    port: u16,
    method: &str,
    path: &str,
    body: Option<&Value>,
    limit: Duration,
) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    // One write: the driver sees the whole request at once.
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;

    read(BufReader::new(stream))
}

/// Status and body of an answer. The driver gives the length of each and keeps the connection open, whatever was asked.
fn read(mut stream: impl BufRead) -> io::Result<(u16, Vec<u8>)> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not an HTTP answer with a length");
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
    let mut length = None;
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
    }
    let length = length.filter(|&bytes| bytes <= ANSWER_BYTES_MAX).ok_or_else(wrong)?;
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body)?;
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn an_answer_has_a_status_and_as_many_bytes_as_it_says() {
        let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nServer: x\r\n\r\n{}more";
        assert_eq!(read(&answer[..]).unwrap(), (404, b"{}".to_vec()));
        assert!(read(&b"HTTP/1.1 200 OK\r\n\r\n{}"[..]).is_err(), "no length");
        assert!(read(&b"nonsense\r\n\r\n"[..]).is_err());
    }
}
