//! The process, under the names of every Prometheus client, from Linux's `/proc`.

use std::fs;
use std::time::UNIX_EPOCH;

use super::ProcessCounters;
use super::text::MetricsPage;

/// Ticks of `/proc/self/stat` in a second: the same on all architectures of Linux with a build of placet.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn write(page: &mut MetricsPage, counters: &ProcessCounters) {
    page.by("version", "placet_build_info", [(env!("CARGO_PKG_VERSION"), 1)]);
    page.one("placet_panics_total", counters.panics.value());
    page.one("placet_log_lines_dropped_total", counters.dropped_log_lines.value());
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
    let stat = Stat::read();
    // Not from /proc/stat, which the unit hides.
    let started = counters.started.duration_since(UNIX_EPOCH).ok();
    for (name, value) in [
        ("process_resident_memory_bytes", resident_bytes()),
        ("process_open_fds", open),
        ("process_max_fds", max_files()),
        ("process_start_time_seconds", started.map(|time| time.as_secs_f64())),
        ("process_threads", stat.as_ref().map(|stat| stat.threads)),
        (
            "process_cpu_seconds_total",
            stat.as_ref().map(|stat| stat.processor_time),
        ),
    ] {
        if let Some(value) = value {
            page.one(name, value);
        }
    }
}

struct Stat {
    processor_time: f64,
    threads: f64,
}

impl Stat {
    fn read() -> Option<Stat> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the process may have blanks and brackets. The next field is the third.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Stat {
            processor_time: (field(14)? + field(15)?) / TICKS_PER_SECOND,
            threads: field(20)?,
        })
    }
}

fn resident_bytes() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

fn max_files() -> Option<f64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map(|current| current as f64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_process_knows_its_memory_files_threads_and_start() {
        let mut page = MetricsPage::default();
        let counters = ProcessCounters {
            started: UNIX_EPOCH + Duration::from_millis(1_500),
            panics: Arc::default(),
            dropped_log_lines: Arc::default(),
        };
        write(&mut page, &counters);
        let text = page.into_text();
        let value = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
                .unwrap_or(-1.0)
        };
        assert!(value("process_resident_memory_bytes") > 1e6, "{text}");
        assert!(value("process_open_fds") >= 3.0 && value("process_max_fds") >= value("process_open_fds"));
        assert!(value("process_threads") >= 1.0 && value("process_cpu_seconds_total") >= 0.0);
        assert_eq!(value("process_start_time_seconds"), 1.5);
    }
}
