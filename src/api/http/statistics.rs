//! The counters of the HTTP layer. The labels are bounded: a path counts as the template of its route, and an unknown
//! path, method or status as `other`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::{Method, StatusCode};

use super::connections::closed::ClosedConnections;
use crate::statistics::{Counter, Distribution, Histogram};
use crate::version::Version;

const OTHER: &str = "other";
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH", OTHER];
const STATUSES: [u16; 20] = [
    200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 414, 415, 431, 500, 501, 503,
];
const VERSIONS: usize = Version::MAX.minor() as usize + 1;

/// Counts requests and searches.
#[derive(Debug)]
pub struct HttpStatistics {
    /// Whether requests are counted: not if no client can read the metrics.
    counts: bool,
    paths: Vec<(&'static str, [MethodStatistics; METHODS.len()])>,
    /// By microversion; the last counter counts requests without a version.
    versions: [Counter; VERSIONS + 1],
    begun: Counter,
    ended: Counter,
    pub candidates: CandidateStatistics,
    pub closed: ClosedConnections,
}

#[derive(Debug)]
struct MethodStatistics {
    /// The last counter counts all further statuses.
    statuses: [Counter; STATUSES.len() + 1],
    times: Histogram,
}

/// Counts answers to requests for candidates.
#[derive(Debug, Default)]
pub struct CandidateStatistics {
    /// Answers sent to the end.
    pub answers: Counter,
    pub found: Counter,
    /// The steps of the searches: a block of 64 providers, or a choice within a tree.
    pub steps: Counter,
}

/// A request in progress, if counted.
pub struct RequestInFlight(Option<Arc<HttpStatistics>>);

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        if let Some(statistics) = &self.0 {
            statistics.ended.increment();
        }
    }
}

/// The requests of one route and method.
pub struct RouteNumbers {
    pub route: &'static str,
    pub method: &'static str,
    /// By status, with `other`.
    pub statuses: Vec<(String, u64)>,
    pub times: Distribution,
}

impl Default for HttpStatistics {
    fn default() -> HttpStatistics {
        HttpStatistics::new(true, [])
    }
}

impl HttpStatistics {
    /// `known`: the paths that are counted each by itself.
    pub fn new(counts: bool, known: impl IntoIterator<Item = &'static str>) -> HttpStatistics {
        let mut paths: Vec<&'static str> = Vec::new();
        for path in known.into_iter().chain([OTHER]) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let statistics = || MethodStatistics {
            statuses: Default::default(),
            times: Histogram::of_times(),
        };
        let methods = |path| (path, std::array::from_fn(|_| statistics()));
        HttpStatistics {
            counts,
            paths: paths.into_iter().map(methods).collect(),
            versions: std::array::from_fn(|_| Counter::default()),
            begun: Counter::default(),
            ended: Counter::default(),
            candidates: CandidateStatistics::default(),
            closed: ClosedConnections::default(),
        }
    }

    /// Counts a request as in flight, until the result is dropped.
    pub fn begin(self: &Arc<Self>) -> RequestInFlight {
        if !self.counts {
            return RequestInFlight(None);
        }
        self.begun.increment();
        RequestInFlight(Some(Arc::clone(self)))
    }

    /// Counts an answer. `route`: the path of its row in the route table, if any.
    pub fn record(
        &self,
        route: Option<&str>,
        method: &Method,
        status: StatusCode,
        version: Option<Version>,
        time: Duration,
    ) {
        if !self.counts {
            return;
        }
        let last = self.paths.len() - 1;
        let path = route.and_then(|route| self.paths.iter().position(|(path, _)| *path == route));
        let method = METHODS.iter().position(|name| *name == method.as_str());
        let counted = &self.paths[path.unwrap_or(last)].1[method.unwrap_or(METHODS.len() - 1)];
        let at = STATUSES.binary_search(&status.as_u16()).unwrap_or(STATUSES.len());
        counted.statuses[at].increment();
        counted.times.record_time(time);
        self.versions[version.map_or(VERSIONS, |version| version.minor().into())].increment();
    }

    /// As `record`, for an answer without a version whose request began at this moment.
    pub fn record_since(&self, route: &str, method: &Method, status: StatusCode, began: Instant) {
        self.record(Some(route), method, status, None, began.elapsed());
    }

    /// The number of requests in progress.
    pub fn in_flight(&self) -> u64 {
        let ended = self.ended.value();
        self.begun.value().saturating_sub(ended)
    }

    /// Every route and method with a request so far.
    pub fn routes(&self) -> Vec<RouteNumbers> {
        let mut all = Vec::new();
        for (route, methods) in &self.paths {
            for (method, counted) in METHODS.into_iter().zip(methods) {
                let names = STATUSES.iter().map(u16::to_string).chain([OTHER.to_owned()]);
                let statuses = names.zip(counted.statuses.iter().map(Counter::value));
                let statuses: Vec<(String, u64)> = statuses.filter(|(_, count)| *count > 0).collect();
                if !statuses.is_empty() {
                    all.push(RouteNumbers {
                        // The root is also called by the empty path.
                        route: if route.is_empty() { "(empty)" } else { route },
                        method,
                        statuses,
                        times: counted.times.read(),
                    });
                }
            }
        }
        all
    }

    /// Every microversion with a request so far, and `none`.
    pub fn versions(&self) -> impl Iterator<Item = (String, u64)> {
        let names = Version::all().map(|version| version.to_string());
        let counts = self.versions.iter().map(Counter::value);
        names
            .chain(["none".to_owned()])
            .zip(counts)
            .filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_methods_and_statuses_share_one_label() {
        let counted = Arc::new(HttpStatistics::default());
        let time = Duration::from_millis(3);
        for number in 0..1000 {
            let method: Method = format!("M{number}").parse().expect("a method");
            let path = format!("/odd/{number}");
            let status = StatusCode::from_u16(300 + number % 500).expect("a status");
            counted.record(Some(&path), &method, status, None, time);
        }
        let routes = counted.routes();
        assert_eq!(routes.len(), 1);
        assert_eq!((routes[0].route, routes[0].method), (OTHER, OTHER));
        assert!(routes[0].statuses.len() <= STATUSES.len() + 1);
        assert_eq!(routes[0].times.count, 1000);
        assert_eq!(counted.versions().collect::<Vec<_>>(), [("none".to_owned(), 1000)]);
    }

    #[test]
    fn statuses_are_in_order_so_that_they_are_found() {
        assert!(STATUSES.is_sorted());
        let in_flight = Arc::new(HttpStatistics::default());
        let guard = in_flight.begin();
        assert_eq!(in_flight.in_flight(), 1);
        drop(guard);
        assert_eq!(in_flight.in_flight(), 0);
    }
}
