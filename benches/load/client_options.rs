//! Options that `load http` and `load sql-baseline` share: the cloud, the number of clients, and the duration.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct ClientOptions {
    /// The file that describes the cloud
    #[arg(long)]
    pub cloud: PathBuf,
    /// Clients that send requests at the same time, each one after the other
    #[arg(long, default_value_t = 1)]
    pub clients: usize,
    /// The duration; an operation that has begun is completed
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
}
