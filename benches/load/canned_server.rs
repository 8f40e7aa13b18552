//! The HTTP baseline's server: it sends the same canned response to every request.
//!
//! `load http` measures it like a service. The result is an upper limit for any server behind this load generator on
//! this machine.

use std::io::Write;

use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const REQUEST_BUFFER_BYTES: usize = 1 << 14;

#[derive(Args)]
pub struct Arguments {
    /// The length of the body; 0 sends status 204 without a body
    #[arg(long)]
    bytes: usize,
    /// The number of threads that serve
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Prints its port, and serves until it is killed.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let response: &'static [u8] = response(arguments.bytes).leak();
    // Each thread accepts connections by itself, as the workers of an HTTP server do.
    let serve = |listener: std::net::TcpListener| {
        tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?
            .block_on(accept(listener, response))
    };
    let others: Vec<_> = (1..arguments.threads)
        .map(|_| listener.try_clone())
        .collect::<Result<_, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = others.into_iter().map(|other| scope.spawn(|| serve(other))).collect();
        let own = serve(listener);
        drop(threads);
        own
    })?;
    Ok(())
}

fn response(bytes: usize) -> Vec<u8> {
    const COMMON_HEADERS: &str = "openstack-api-version: placement 1.39\r\nvary: openstack-api-version\r\n\
                                  x-openstack-request-id: req-00000000-0000-4000-8000-000000000000\r\n";
    let head = if bytes == 0 {
        format!("HTTP/1.1 204 No Content\r\n{COMMON_HEADERS}\r\n")
    } else {
        format!(
            "HTTP/1.1 200 OK\r\n{COMMON_HEADERS}cache-control: no-cache\r\ncontent-type: application/json\r\n\
             content-length: {bytes}\r\n\r\n"
        )
    };
    let mut response = head.into_bytes();
    response.resize(response.len() + bytes, b' ');
    response
}

async fn accept(listener: std::net::TcpListener, response: &'static [u8]) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // An error means that the client closed its connection, which is no failure.
            drop(serve(stream, response).await);
        });
    }
}

/// Serves one connection. The client sends a request only after the response to the one before.
async fn serve(mut stream: TcpStream, response: &[u8]) -> std::io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), vec![0; REQUEST_BUFFER_BYTES]);
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
        if is_complete(&request) {
            stream.write_all(response).await?;
            request.clear();
        }
    }
}

/// Whether these bytes have all headers, and as many bytes of body as `content-length` says.
fn is_complete(request: &[u8]) -> bool {
    const HEADERS_END: &[u8] = b"\r\n\r\n";
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let Some(head) = request.windows(HEADERS_END.len()).position(|part| part == HEADERS_END) else {
        return false;
    };
    let length = request[..head].windows(LENGTH.len()).position(|part| part == LENGTH);
    let number = |at: usize| {
        request[at + LENGTH.len()..head]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
    };
    request.len() >= head + HEADERS_END.len() + length.map_or(0, number)
}
