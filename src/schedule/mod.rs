//! When a tick runs, and the units that see to it.
//!
//! The expression is the one setting `schedule.cron`. A unit of the system (systemd user timer,
//! launchd agent, crontab) only *calls* `lifecycle run --if-due`; whether a tick is due the program
//! decides itself, from the end of the last run: being called at login, by a timer and by a hook,
//! or twice, does no harm, and a time that was slept through is made up once.

mod backend;
mod calendar;
pub mod crontab;
mod expression;
mod program;
mod unit;

pub use backend::{Backend, Command, check, detect};
pub use expression::{Expression, due};
pub use program::{find_program, shell_word};
pub use unit::{Unit, plist_path};
