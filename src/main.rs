//! The program `placet`: parses the command line and runs the command.

use placet::cli::{Arguments, stderr};
use tikv_jemallocator::Jemalloc;

/// glibc's allocator keeps the memory of a large body: 295 MB after allocations of 33 MB, in a process of 24 MB before.
/// jemalloc gives memory back after 20 ms, by the options in `.cargo/config.toml`: the process has 41 MB afterwards.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Ends without the exit handlers of the C libraries. These handlers free what OpenSSL and the database clients share,
/// and a thread that waits for a database at that moment would use the freed memory. No output is left in a buffer.
fn main() -> ! {
    let program = std::env::args().next().unwrap_or_else(|| "placet".to_owned());
    let code = Arguments::of(std::env::args_os().collect())
        .run(&program)
        .unwrap_or_else(|failure| {
            stderr::line(&format!("placet: {failure}"));
            1
        });
    signal_hook::low_level::exit(i32::from(code))
}
