//! Programs of the machine that a test wants. A test that finds none says so and passes, so that
//! the suite runs on any machine; `.ci/run` installs them where it can and lists what is missing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The first of these programs that is on the search path. `None` is said, with what goes untested.
pub fn tool(names: &[&str], for_what: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        println!("skipped: {for_what} needs {}, which this machine lacks", names.join(" or "));
    }
    found
}

/// A folder that comes first on the search path of every command, so that no test reaches the
/// schedulers of the machine: a user without a service manager, and a table of cron per home.
pub fn schedulers() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(make_schedulers)
}

fn make_schedulers() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schedulers");
    let table = "$HOME/../crontab.table";
    let crontab = format!(
        "#!/bin/sh\ncase \"$1\" in -l) exec /bin/cat \"{table}\" 2>/dev/null;; \
         -r) exec /bin/rm \"{table}\";; -) exec /bin/cat >\"{table}\";; *) exit 1;; esac\n"
    );
    for (name, script) in [("crontab", crontab.as_str()), ("systemctl", "#!/bin/sh\nexit 1\n")] {
        let place = folder.join(name);
        if std::fs::read_to_string(&place).is_ok_and(|text| text == script) {
            continue;
        }
        std::fs::create_dir_all(&folder).unwrap();
        // Put in place whole: another test may be calling it.
        let fresh = folder.join(format!("{name}.{}", std::process::id()));
        std::fs::write(&fresh, script).unwrap();
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&fresh, &place).unwrap();
    }
    folder
}
