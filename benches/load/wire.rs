//! One client's HTTP/1.1 connection, kept alive. A server that closes it is connected to again, and that is counted.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What of an answer is looked at.
pub struct Answer {
    pub status: u16,
    /// Of the body.
    pub bytes: usize,
    /// Empty where it was not to be kept and all went well.
    pub body: Vec<u8>,
}

impl Answer {
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

pub struct Connection {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
    line: Vec<u8>,
    sent: Vec<u8>,
    pub connects: usize,
}

/// How the end of a body is known.
#[derive(Clone, Copy)]
enum End {
    Length(usize),
    Chunks,
    Close,
}

impl Connection {
    pub fn new(port: u16) -> Self {
        Connection {
            port,
            stream: None,
            line: Vec::new(),
            sent: Vec::new(),
            connects: 0,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub async fn get(&mut self, path: &str, keep: bool) -> Result<Answer> {
        self.ask("GET", path, &[], keep).await
    }

    pub async fn put(&mut self, path: &str, body: &[u8]) -> Result<Answer> {
        self.ask("PUT", path, body, false).await
    }

    async fn ask(&mut self, method: &str, path: &str, body: &[u8], keep: bool) -> Result<Answer> {
        self.sent.clear();
        self.sent.extend_from_slice(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-auth-token: admin\r\naccept: application/json\r\n\
                 openstack-api-version: placement 1.39\r\n"
            )
            .as_bytes(),
        );
        if method != "GET" {
            let length = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
            self.sent.extend_from_slice(length.as_bytes());
        }
        self.sent.extend_from_slice(b"\r\n");
        self.sent.extend_from_slice(body);
        // A kept connection may have been closed by the server while nobody looked: that one try is made again.
        let kept = self.stream.is_some();
        match self.exchange(keep).await {
            Err(error) if kept && is_closed(&error) => {
                self.stream = None;
                self.exchange(keep).await
            }
            other => other,
        }
    }

    async fn exchange(&mut self, keep: bool) -> Result<Answer> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
            stream.set_nodelay(true)?;
            self.stream = Some(BufReader::with_capacity(1 << 18, stream));
            self.connects += 1;
        }
        let Some(stream) = &mut self.stream else {
            return Err(ErrorKind::NotConnected.into());
        };
        stream.write_all(&self.sent).await?;
        let (status, end, close) = head(stream, &mut self.line).await?;
        let mut answer = Answer {
            status,
            bytes: 0,
            body: Vec::new(),
        };
        let keep = keep || !answer.is_good();
        match end {
            End::Length(length) => take(stream, length, keep, &mut answer).await?,
            End::Chunks => chunks(stream, &mut self.line, keep, &mut answer).await?,
            End::Close => while take_some(stream, usize::MAX, keep, &mut answer).await? > 0 {},
        }
        if close {
            self.stream = None;
        }
        Ok(answer)
    }
}

fn is_closed(error: &Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}

/// Status line and headers; whether the connection ends with the body.
async fn head(stream: &mut BufReader<TcpStream>, line: &mut Vec<u8>) -> Result<(u16, End, bool)> {
    read_line(stream, line).await?;
    let status = std::str::from_utf8(line.get(9..12).unwrap_or_default())
        .ok()
        .and_then(|text| text.parse().ok());
    let status = status.ok_or_else(|| Error::new(ErrorKind::InvalidData, "no status line"))?;
    let mut end = if status == 204 { End::Length(0) } else { End::Close };
    let mut close = false;
    loop {
        read_line(stream, line).await?;
        let text = std::str::from_utf8(line)
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match text.split_once(':') {
            None => return Ok((status, end, close || matches!(end, End::Close))),
            Some(("content-length", length)) => {
                end = End::Length(length.trim().parse().map_err(|_| ErrorKind::InvalidData)?);
            }
            Some(("transfer-encoding", coding)) if coding.trim() == "chunked" => end = End::Chunks,
            Some(("connection", what)) => close = what.trim() == "close",
            Some(_) => {}
        }
    }
}

async fn read_line(stream: &mut BufReader<TcpStream>, line: &mut Vec<u8>) -> Result<()> {
    line.clear();
    match stream.read_until(b'\n', line).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

async fn chunks(stream: &mut BufReader<TcpStream>, line: &mut Vec<u8>, keep: bool, answer: &mut Answer) -> Result<()> {
    loop {
        read_line(stream, line).await?;
        let size = std::str::from_utf8(line).unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
        take(stream, size, keep, answer).await?;
        // The end of the chunk, or of all of them: no server here sends trailers.
        read_line(stream, line).await?;
        if size == 0 {
            return Ok(());
        }
    }
}

async fn take(stream: &mut BufReader<TcpStream>, mut left: usize, keep: bool, answer: &mut Answer) -> Result<()> {
    while left > 0 {
        match take_some(stream, left, keep, answer).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            some => left -= some,
        }
    }
    Ok(())
}

async fn take_some(stream: &mut BufReader<TcpStream>, most: usize, keep: bool, answer: &mut Answer) -> Result<usize> {
    let have = stream.fill_buf().await?;
    let some = have.len().min(most);
    if keep {
        answer.body.extend_from_slice(&have[..some]);
    }
    answer.bytes += some;
    stream.consume(some);
    Ok(some)
}
