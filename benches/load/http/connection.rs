//! The HTTP/1.1 connection of one client, with keep-alive. If the server closed it, it is opened again and counted.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const READ_BUFFER_BYTES: usize = 1 << 18;

/// The parts of a response that the scenarios need.
pub struct Response {
    pub status: u16,
    /// The length of the body.
    pub bytes: usize,
    /// Empty for a success whose body was not asked for.
    pub body: Vec<u8>,
}

impl Response {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

pub struct Connection {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
    /// The line of the head that was read last.
    line: Vec<u8>,
    request: Vec<u8>,
    /// TCP connections that were opened.
    pub connects: usize,
}

/// How the end of a body is found.
#[derive(Clone, Copy)]
enum BodyEnd {
    Length(usize),
    Chunked,
    Close,
}

impl Connection {
    pub fn new(port: u16) -> Self {
        Connection {
            port,
            stream: None,
            line: Vec::new(),
            request: Vec::new(),
            connects: 0,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// With `keep` the response has its body.
    pub async fn get(&mut self, path: &str, keep: bool) -> Result<Response> {
        self.send("GET", path, &[], keep).await
    }

    pub async fn put(&mut self, path: &str, body: &[u8]) -> Result<Response> {
        self.send("PUT", path, body, false).await
    }

    pub async fn post(&mut self, path: &str, body: &[u8]) -> Result<Response> {
        self.send("POST", path, body, false).await
    }

    async fn send(&mut self, method: &str, path: &str, body: &[u8], keep: bool) -> Result<Response> {
        self.request.clear();
        self.request.extend_from_slice(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-auth-token: admin\r\naccept: application/json\r\n\
                 openstack-api-version: placement 1.39\r\n"
            )
            .as_bytes(),
        );
        if method != "GET" {
            let length = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
            self.request.extend_from_slice(length.as_bytes());
        }
        self.request.extend_from_slice(b"\r\n");
        self.request.extend_from_slice(body);
        // The server may have closed the connection since the last request. That one case is retried.
        let is_reused = self.stream.is_some();
        match self.exchange(keep).await {
            Err(error) if is_reused && is_closed(&error) => {
                self.stream = None;
                self.exchange(keep).await
            }
            other => other,
        }
    }

    async fn exchange(&mut self, keep: bool) -> Result<Response> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
            stream.set_nodelay(true)?;
            self.stream = Some(BufReader::with_capacity(READ_BUFFER_BYTES, stream));
            self.connects += 1;
        }
        let Some(stream) = &mut self.stream else {
            return Err(ErrorKind::NotConnected.into());
        };
        stream.write_all(&self.request).await?;
        let (status, end, close) = read_head(stream, &mut self.line).await?;
        let mut response = Response {
            status,
            bytes: 0,
            body: Vec::new(),
        };
        let keep = keep || !response.is_success();
        match end {
            BodyEnd::Length(length) => read_exactly(stream, length, keep, &mut response).await?,
            BodyEnd::Chunked => read_chunks(stream, &mut self.line, keep, &mut response).await?,
            BodyEnd::Close => while read_some(stream, usize::MAX, keep, &mut response).await? > 0 {},
        }
        if close {
            self.stream = None;
        }
        Ok(response)
    }
}

fn is_closed(error: &Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}

/// Reads status line and headers. Returns the status, how the body ends, and whether the connection ends with it.
async fn read_head(stream: &mut BufReader<TcpStream>, line: &mut Vec<u8>) -> Result<(u16, BodyEnd, bool)> {
    read_line(stream, line).await?;
    let status = std::str::from_utf8(line.get(9..12).unwrap_or_default())
        .ok()
        .and_then(|text| text.parse().ok());
    let status = status.ok_or_else(|| Error::new(ErrorKind::InvalidData, "no status line"))?;
    let mut end = if status == 204 {
        BodyEnd::Length(0)
    } else {
        BodyEnd::Close
    };
    let mut close = false;
    loop {
        read_line(stream, line).await?;
        let text = std::str::from_utf8(line)
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match text.split_once(':') {
            None => return Ok((status, end, close || matches!(end, BodyEnd::Close))),
            Some(("content-length", length)) => {
                end = BodyEnd::Length(length.trim().parse().map_err(|_| ErrorKind::InvalidData)?);
            }
            Some(("transfer-encoding", coding)) if coding.trim() == "chunked" => end = BodyEnd::Chunked,
            Some(("connection", value)) => close = value.trim() == "close",
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

async fn read_chunks(
    stream: &mut BufReader<TcpStream>,
    line: &mut Vec<u8>,
    keep: bool,
    response: &mut Response,
) -> Result<()> {
    loop {
        read_line(stream, line).await?;
        let size = std::str::from_utf8(line).unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
        read_exactly(stream, size, keep, response).await?;
        // The line end after a chunk, or after the last one. None of the servers here sends trailers.
        read_line(stream, line).await?;
        if size == 0 {
            return Ok(());
        }
    }
}

async fn read_exactly(
    stream: &mut BufReader<TcpStream>,
    mut left: usize,
    keep: bool,
    response: &mut Response,
) -> Result<()> {
    while left > 0 {
        match read_some(stream, left, keep, response).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => left -= read,
        }
    }
    Ok(())
}

/// Reads at least one byte of the body and at most `max`. Returns how many; 0 at the end of the stream.
async fn read_some(
    stream: &mut BufReader<TcpStream>,
    max: usize,
    keep: bool,
    response: &mut Response,
) -> Result<usize> {
    let buffered = stream.fill_buf().await?;
    let read = buffered.len().min(max);
    if keep {
        response.body.extend_from_slice(&buffered[..read]);
    }
    response.bytes += read;
    stream.consume(read);
    Ok(read)
}
