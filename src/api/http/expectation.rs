//! `Expect: 100-continue`: a client that waits before sending the body.
//!
//! actix answers 100 before a request is served. So a client without a valid token would send the body, and get a
//! refusal after the body. The stream holds the 100 back until the body is read. If the request is refused earlier, the
//! refusal takes the place of the 100.

use actix_web::HttpRequest;

use super::headers::text;

/// The text that actix writes.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Whether the client of a request waits before sending the body.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The client does not wait, or has its answer.
    #[default]
    None,
    /// The client waits, and nothing is decided about the body.
    Undecided,
    /// The body is read.
    Met,
    /// The request was refused before the body was read. The connection ends after the answer.
    Refused,
}

/// The treatment of the bytes from actix.
#[derive(Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// This many bytes are written.
    Write(usize),
    /// This many bytes are dropped: an answer follows.
    Drop(usize),
    /// The bytes are held back.
    Hold,
}

impl Expectation {
    /// Whether the client waits: a request without a body expects nothing.
    pub fn of(request: &HttpRequest) -> Expectation {
        let has_length = text(request, "content-length").is_some_and(|length| length != "0");
        let has_body = has_length || text(request, "transfer-encoding").is_some();
        // Whether the header is present, and no `Result::expect`.
        let has_header = request.head().expect();
        if has_header && has_body {
            Expectation::Undecided
        } else {
            Expectation::None
        }
    }

    /// The treatment of `bytes`, which begin with answers to earlier requests or with a 100.
    pub fn step(self, bytes: &[u8]) -> Forwarding {
        if matches!(self, Expectation::None | Expectation::Met) {
            return Forwarding::Write(bytes.len());
        }
        let mut parts = bytes.windows(CONTINUE.len());
        match parts.position(|part| part == CONTINUE) {
            None => Forwarding::Write(bytes.len()),
            Some(0) if bytes.len() == CONTINUE.len() && self == Expectation::Undecided => Forwarding::Hold,
            Some(0) => Forwarding::Drop(CONTINUE.len()),
            Some(at) => Forwarding::Write(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_100_is_held_back_until_it_is_decided_whether_the_body_is_read() {
        let refused = [CONTINUE, b"HTTP/1.1 401"].concat();
        let behind = [b"HTTP/1.1 200 OK\r\n\r\n", CONTINUE].concat();
        let steps = |expectation: Expectation| [CONTINUE, &refused, &behind].map(|bytes| expectation.step(bytes));
        let whole = [25, 37, 44].map(Forwarding::Write);
        assert_eq!(steps(Expectation::None), whole);
        assert_eq!(steps(Expectation::Met), whole);
        let expected = [Forwarding::Hold, Forwarding::Drop(25), Forwarding::Write(19)];
        assert_eq!(steps(Expectation::Undecided), expected);
        let expected = [Forwarding::Drop(25), Forwarding::Drop(25), Forwarding::Write(19)];
        assert_eq!(steps(Expectation::Refused), expected);
        assert_eq!(Expectation::Undecided.step(b"HTTP/1.1 200 OK"), Forwarding::Write(15));
    }
}
