//! Notifications to systemd, if systemd asks (`Type=notify`, `WatchdogSec=`).

use std::time::Duration;

use sd_notify::NotifyState;

/// The process does its work.
pub fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// A line for `systemctl status`.
pub fn status(status: &str) {
    notify(&[NotifyState::Status(status)]);
}

/// The process ends.
pub fn stopping(status: &str) {
    notify(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

/// The process is alive, for the watchdog.
pub fn alive() {
    notify(&[NotifyState::Watchdog]);
}

/// The time between two notifications of the watchdog, half of its period. `None` without a watchdog.
pub fn watchdog_pause() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|period| period / 2)
}

fn notify(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        log::warn!("Cannot notify systemd: {error}. Is NOTIFY_SOCKET the socket of a service manager?");
    }
}
