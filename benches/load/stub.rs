//! A server that answers every request with the same bytes: what any server could do at most on this machine, over this
//! generator.

use std::io::Write;

use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Args)]
pub struct Arguments {
    /// How long the body is; 0: 204 without one
    #[arg(long)]
    bytes: usize,
    /// How many threads serve
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Prints its port, and serves until it is killed.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let answer: &'static [u8] = answer(arguments.bytes).leak();
    // Each thread accepts for itself, as an HTTP server's workers do.
    let serve = |listener: std::net::TcpListener| {
        tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?
            .block_on(accept(listener, answer))
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

fn answer(bytes: usize) -> Vec<u8> {
    const COMMON: &str = "openstack-api-version: placement 1.39\r\nvary: openstack-api-version\r\n\
                          x-openstack-request-id: req-00000000-0000-4000-8000-000000000000\r\n";
    let head = match bytes {
        0 => format!("HTTP/1.1 204 No Content\r\n{COMMON}\r\n"),
        _ => format!(
            "HTTP/1.1 200 OK\r\n{COMMON}cache-control: no-cache\r\ncontent-type: application/json\r\n\
             content-length: {bytes}\r\n\r\n"
        ),
    };
    let mut answer = head.into_bytes();
    answer.resize(answer.len() + bytes, b' ');
    answer
}

async fn accept(listener: std::net::TcpListener, answer: &'static [u8]) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that leaves is no matter.
            drop(serve(stream, answer).await);
        });
    }
}

/// A request ends with its empty line, and with the body that its length tells; clients send one at a time.
async fn serve(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), vec![0; 1 << 14]);
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
        if is_whole(&request) {
            stream.write_all(answer).await?;
            request.clear();
        }
    }
}

fn is_whole(request: &[u8]) -> bool {
    let Some(head) = request.windows(4).position(|it| it == b"\r\n\r\n") else {
        return false;
    };
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let length = request[..head].windows(LENGTH.len()).position(|it| it == LENGTH);
    let digits = |at: usize| {
        request[at + LENGTH.len()..head]
            .iter()
            .take_while(|it| it.is_ascii_digit())
            .fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
    };
    request.len() >= head + 4 + length.map_or(0, digits)
}
