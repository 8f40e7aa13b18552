//! The watchdog of systemd (`WatchdogSec=`) learns that the service is alive only after the event loop of every worker
//! has run. An absent database does not stop the notifications, because a restart would not bring the database back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::rt::spawn;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::systemd;

/// Asks each worker whether its event loop runs.
#[derive(Clone)]
pub struct Heartbeat {
    asked: watch::Sender<u64>,
    /// A permit for each answer of a worker.
    answers: Arc<Semaphore>,
}

impl Heartbeat {
    pub fn new() -> Heartbeat {
        Heartbeat {
            asked: watch::channel(0).0,
            answers: Arc::new(Semaphore::new(0)),
        }
    }

    /// Called on each worker.
    pub fn answer(&self) {
        let (mut asked, answers) = (self.asked.subscribe(), Arc::clone(&self.answers));
        spawn(async move {
            while asked.changed().await.is_ok() {
                answers.add_permits(1);
            }
        });
    }

    /// Whether all workers answer in this time.
    async fn all_answer(&self, workers: usize, within: Duration) -> bool {
        // Answers to earlier questions.
        self.answers.forget_permits(usize::MAX);
        self.asked.send_modify(|asked| *asked += 1);
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        match timeout(within, self.answers.acquire_many(workers)).await {
            Ok(Ok(answers)) => {
                answers.forget();
                true
            }
            _ => false,
        }
    }

    /// Notifies the watchdog twice in each of its periods, while all workers answer. Does nothing without a watchdog.
    pub fn start_watchdog(&self, workers: usize) {
        let Some(period) = systemd::watchdog_pause() else {
            return;
        };
        let heartbeat = self.clone();
        spawn(async move {
            loop {
                let asked = Instant::now();
                if heartbeat.all_answer(workers, period).await {
                    systemd::alive();
                    sleep(period).await;
                } else if asked.elapsed() < 2 * period {
                    // After a longer time the process itself stood still, and the workers are asked again.
                    log::error!("A worker has not answered for {period:?}; systemd's watchdog is not notified");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use actix_web::rt::System;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    type Job = Box<dyn FnOnce() + Send>;

    /// A thread with an event loop, which runs jobs until their sender is dropped.
    fn worker() -> UnboundedSender<Job> {
        let (sender, mut jobs) = unbounded_channel::<Job>();
        let run = async move {
            while let Some(job) = jobs.recv().await {
                job();
            }
        };
        thread::spawn(move || System::new().block_on(run));
        sender
    }

    #[test]
    fn a_worker_whose_event_loop_is_blocked_is_noticed_and_so_is_its_recovery() {
        const WITHIN: Duration = Duration::from_millis(300);
        System::new().block_on(async {
            let heartbeat = Heartbeat::new();
            let workers = [worker(), worker()];
            let send = |job: Job, worker: &UnboundedSender<Job>| assert!(worker.send(job).is_ok());
            for worker in &workers {
                let (heartbeat, (done, is_done)) = (heartbeat.clone(), mpsc::channel());
                let answer = move || {
                    heartbeat.answer();
                    done.send(()).unwrap();
                };
                send(Box::new(answer), worker);
                is_done.recv().unwrap();
            }
            assert!(heartbeat.all_answer(2, WITHIN * 10).await);
            let (begin, has_begun) = mpsc::channel();
            let block = move || {
                begin.send(()).unwrap();
                thread::sleep(WITHIN * 5);
            };
            send(Box::new(block), &workers[0]);
            // The question that arrives first is answered first.
            has_begun.recv().unwrap();
            assert!(!heartbeat.all_answer(2, WITHIN).await);
            assert!(heartbeat.all_answer(2, WITHIN * 10).await);
            // Every answer counts once.
            assert!(!heartbeat.all_answer(3, WITHIN).await);
        });
    }
}
