//! A client that sends a request, and reads the whole answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use actix_web::http::Method;

use super::cases::Case;
use crate::version::Version;

/// A request, and the expected answer.
pub struct Request {
    pub name: String,
    /// Of the answer.
    pub status: u16,
    bytes: Vec<u8>,
}

/// An answer as received.
pub struct Answer {
    pub status: u16,
    /// With the lengths of chunks, if the body has chunks.
    pub body: Vec<u8>,
}

impl Answer {
    /// The beginning of the body.
    pub fn refusal(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(1000)]).into_owned()
    }
}

impl Request {
    /// A request by an administrator and service user, on a connection for this request alone.
    pub fn new(method: &Method, case: &Case, version: Version) -> Request {
        let mut body = case.body.as_ref().map(ToString::to_string).unwrap_or_default();
        if !body.is_empty() {
            body.push_str(&" ".repeat(case.length.saturating_sub(body.len())));
        }
        let (url, length) = (&case.url, body.len());
        let bytes = format!(
            "{method} {url} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-auth-token: admin\r\n\
             x-roles: admin,service\r\nopenstack-api-version: placement {version}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Request {
            name: format!("{method} {url} with {length} bytes"),
            status: case.status,
            bytes: bytes.into_bytes(),
        }
    }

    /// Sends the request, and reads until the server closes the connection.
    pub fn send(&self, address: SocketAddr) -> Answer {
        let mut connection = TcpStream::connect(address).expect("a connection");
        connection.write_all(&self.bytes).expect("a reader");
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).expect("an answer");
        let end = answer
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&answer[..end]);
        Answer {
            status: head[9..12].parse().expect("a status"),
            body: answer.split_off(end + 4),
        }
    }
}
