//! How many clients ask at once, for how long, and of which cloud: what `http` and `floor` are both told.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct Clients {
    /// The file that says where claims can go
    #[arg(long)]
    pub cloud: PathBuf,
    #[arg(long, default_value_t = 1)]
    pub clients: usize,
    /// What is begun within them is ended
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
}
