//! Progress of what takes longer than a second, for a person at a terminal.
//!
//! A line appears on standard error only after a second, and only where standard error is a
//! terminal, nothing asked for quiet, and [`show`] was called: hooks, servers, pipes and scheduled
//! jobs see none. Lines of parts stand below the line of the whole. What is printed meanwhile goes
//! through [`aside`], so that the two do not overwrite each other.

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{LazyLock, Once};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long something may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);
const STEADY: Duration = Duration::from_millis(250);

static SHOWN: AtomicBool = AtomicBool::new(false);
static LINES: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));

/// Allows progress to be shown, where standard error is a terminal that can.
pub fn show() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        SHOWN.store(std::io::stderr().is_terminal() && !dumb, Ordering::Relaxed);
    });
}

/// Does something that prints, with the lines out of its way.
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    if SHOWN.load(Ordering::Relaxed) { LINES.suspend(print) } else { print() }
}

/// Something under way; the line goes when this is dropped.
pub struct Progress {
    bar: ProgressBar,
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// `total` things, with the time that is left.
    pub fn of(what: &'static str, total: usize) -> Self {
        let template = "  {msg:22} {bar:24} {human_pos}/{human_len}{left}";
        Self::start(what, template, u64::try_from(total).unwrap_or(u64::MAX))
    }

    /// Parts of a whole, each with a name of its own ([`Progress::enter`]).
    pub fn parts(what: &'static str, total: usize) -> Self {
        let template = "{prefix}: {msg} ({pos} of {len} done, {elapsed})";
        let progress = Self::start("", template, u64::try_from(total).unwrap_or(u64::MAX));
        progress.bar.set_prefix(what);
        progress
    }

    /// So many bytes.
    pub fn bytes(what: String, total: u64, done: u64) -> Self {
        let template = "  {msg:22} {bar:20} {bytes}/{total_bytes}, {bytes_per_sec}{left}";
        let progress = Self::start(what, template, total);
        progress.bar.set_position(done);
        progress.bar.reset_eta();
        progress
    }

    /// Something of which nobody knows how long it takes.
    pub fn unknown(what: impl Into<String>) -> Self {
        Self::start(what.into(), "  {spinner} {msg} ({elapsed})", 0)
    }

    fn start(
        what: impl Into<std::borrow::Cow<'static, str>>,
        template: &'static str,
        total: u64,
    ) -> Self {
        if !SHOWN.load(Ordering::Relaxed) {
            return Self { bar: ProgressBar::hidden(), watch: None };
        }
        let style = ProgressStyle::with_template(template).expect("the templates are valid");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
            .with_style(style.progress_chars("=> ").with_key("left", left))
            .with_message(what);
        let (stop, stopped) = channel();
        let late = bar.clone();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                LINES.add(late.clone()).enable_steady_tick(STEADY);
            }
        });
        Self { bar, watch: Some((stop, thread)) }
    }

    /// So many more are done.
    pub fn add(&self, count: usize) {
        self.bar.inc(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// The next part begins.
    pub fn enter(&self, part: &'static str) {
        self.bar.set_message(part);
    }

    /// A reader that counts what goes through it.
    pub fn read<R: Read>(&self, from: R) -> impl Read {
        self.bar.wrap_read(from)
    }
}

/// The time that is left, once there is something to judge it by.
fn left(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(out, ", about {:#} left", HumanDuration(state.eta()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.watch.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
