//! `lifecycle model calibrate`.

use crate::cli::Session;
use crate::error::Result;
use clap::Args;

/// Options of `calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// Only print what was measured; keep the scale in use
    #[arg(long)]
    dry_run: bool,
}

/// Measures and stores the scale.
pub fn run(_session: &Session, _args: &CalibrateArgs) -> Result<()> {
    Ok(())
}
