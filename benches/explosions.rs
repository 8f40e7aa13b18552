//! Searches that risk a combinatorial explosion, each with a time bound: `cargo bench --bench explosions [NAME]`.
//!
//! Runs the cases whose name contains NAME. Prints for each the number of candidates, its CPU time, and the growth of
//! the process (both on Linux; on other systems wall time, and no growth). A case that exceeds its bound fails the
//! bench. It is interrupted after four times the bound. Bounds are generous: they distinguish a search whose time is
//! proportional to its result from one that explodes.

mod explosion_cases;
mod search_inputs;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use explosion_cases::{Case, MAX_CANDIDATES};
use placet::benchmarked::{Interrupt, SearchSettings, Snapshot, candidates};
use search_inputs::settings;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (name, only) = (arguments.next().unwrap_or_default(), arguments.next());
    let all = explosion_cases::all();
    if only.is_some() {
        let good = all.into_iter().filter(|case| case.name == name).all(Case::measure);
        return if good { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    println!("| case | candidates | seconds | bound | growth |\n|---|---|---|---|---|");
    let (mut count, mut bad) = (0, 0);
    for case in all.filter(|case| case.name.contains(&name)) {
        // Each case has a process of its own, because memory that one leaves would hide the growth of the next.
        let process = std::env::current_exe().and_then(|me| Command::new(me).args([&case.name, "only"]).status());
        count += 1;
        bad += i32::from(!process.is_ok_and(|status| status.success()));
    }
    println!("{} passed, {bad} failed, 0 skipped", count - bad);
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Case {
    fn measure(self) -> bool {
        let snapshot = Snapshot::build(explosion_cases::catalog(), self.rows);
        let interrupt = Interrupt::default();
        let settings = SearchSettings {
            ceiling: MAX_CANDIDATES,
            tree_order: self.tree_order,
            interrupt: interrupt.clone(),
            ..settings()
        };
        let interrupt_after = Duration::from_secs(4 * self.bound_seconds);
        // The process ends without waiting for this thread.
        std::thread::spawn(move || {
            std::thread::sleep(interrupt_after);
            interrupt.set();
        });
        // Resets the peak. If that fails, the peak includes the making of the rows.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let memory_before = peak_kib();
        let (start, cpu_before) = (Instant::now(), cpu_time());
        let mut found = 0;
        let mut note = "";
        if let Ok(all) = candidates(&snapshot, &self.request, &settings) {
            for candidate in all.select() {
                match candidate {
                    Ok(_) => found += 1,
                    Err(_) => note = " (given up)",
                }
            }
        }
        let time = cpu_time()
            .zip(cpu_before)
            .map_or_else(|| start.elapsed(), |(now, before)| now - before);
        let growth_kib = peak_kib() - memory_before;
        let (name, bound) = (self.name, self.bound_seconds);
        let good = found == self.expected && time < Duration::from_secs(bound);
        let mark = if good { "" } else { " **wrong**" };
        let seconds = time.as_secs_f64();
        println!("| {name} | {found}{note}{mark} | {seconds:.3} | {bound} | {growth_kib} KiB |");
        good
    }
}

/// The CPU time of this thread so far.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// The peak of the process's resident memory, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    word.unwrap_or(0)
}
