//! Programs of the system, and words as its shells and units read them.

use std::path::{Path, PathBuf};

/// The first program of that name on the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file() || file.with_extension("exe").is_file()
}

/// `text` as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |ch: char| ch.is_ascii_alphanumeric() || "/._-+:@,=".contains(ch);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `text` as one word of a systemd unit: quoted, specifiers and variables taken literally.
pub fn systemd_word(text: &str) -> String {
    let escaped =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

/// `text` in XML.
pub fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_spaces_and_quotes() {
        assert_eq!(shell_word("/usr/bin/lifecycle"), "/usr/bin/lifecycle");
        assert_eq!(shell_word("/home/o'neil x/l"), "'/home/o'\\''neil x/l'");
        assert_eq!(systemd_word("/a b/50%/$x"), "\"/a b/50%%/$$x\"");
        assert_eq!(xml("a<b & c"), "a&lt;b &amp; c");
    }
}
