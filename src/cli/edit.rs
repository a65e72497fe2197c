//! `lifecycle config edit`: the settings file in the user's editor, checked before it counts.

use super::{Global, init::asked, print_text};
use crate::config::{Layers, Origin};
use crate::error::{Error, ExitCode, Result};
use crate::install::settings_edit;
use crate::paths::Paths;
use crate::targets::door;
use std::path::Path;
use std::process::Command;

/// Opens a copy in the editor until it is valid or given up, then puts it in place.
pub fn run(_global: &Global, paths: &Paths) -> Result<ExitCode> {
    let edit = settings_edit(paths)?;
    let before = edit.before.clone();
    let start = before.clone().or(edit.after).unwrap_or_default();
    let folder = tempfile::tempdir().map_err(|error| Error::io(&std::env::temp_dir(), &error))?;
    let copy = folder.path().join("config.toml");
    std::fs::write(&copy, &start).map_err(|error| Error::io(&copy, &error))?;
    loop {
        open_editor(&copy)?;
        let text = crate::regular::text(&copy, crate::regular::SMALL)
            .map_err(|error| Error::io(&copy, &error))?;
        if Some(text.as_bytes()) == before.as_deref() {
            print_text("nothing changed\n");
            return Ok(ExitCode::Success);
        }
        match check(&text, paths) {
            Ok(()) => return put(paths, before.as_deref(), text.as_bytes()),
            Err(error) => {
                super::print_error(&error);
                match asked("Edit again?") {
                    Ok(true) => {}
                    _ => return Err(Error::config("the settings were left as they were")),
                }
            }
        }
    }
}

/// Whether the text makes settings.
pub fn check(text: &str, paths: &Paths) -> Result<()> {
    let mut layers = Layers::defaults();
    layers.merge_text(text, Origin::File(paths.config_file.clone()))?;
    super::checked::settings(&layers, paths).map(drop)
}

fn put(paths: &Paths, before: Option<&[u8]>, after: &[u8]) -> Result<ExitCode> {
    let path = std::fs::canonicalize(&paths.config_file).unwrap_or(paths.config_file.clone());
    if let Some(folder) = path.parent() {
        crate::paths::create_private(folder)?;
    }
    door::write(&path, before.map(door::hash).as_deref(), after)
        .map_err(|error| Error::io(&path, &error))?;
    print_text(&format!("{} written\n", paths.config_file.display()));
    Ok(ExitCode::Success)
}

fn open_editor(file: &Path) -> Result<()> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
        .unwrap_or_else(|| if cfg!(windows) { "notepad".into() } else { "vi".into() });
    // The variable may hold arguments; no shell reads it, so nothing in it is ever a command.
    let words = if cfg!(windows) { vec![editor.clone()] } else { words(&editor) };
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::config("EDITOR names no program"));
    };
    match Command::new(program).args(arguments).arg(file).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::new(ExitCode::Failure, format!("{editor} ended with {status}"))),
        Err(error) => Err(Error::new(ExitCode::Failure, format!("{editor}: {error}"))
            .hint("set EDITOR to your editor")),
    }
}

/// The words of a command line: split at spaces, except within quotes or after a backslash.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut characters) = (None, line.chars());
    while let Some(ch) = characters.next() {
        match (quote, ch) {
            (None, '\'' | '"') => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (Some(open), ch) if ch == open => quote = None,
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, ch) if ch.is_whitespace() => words.extend(word.take()),
            (_, ch) => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn an_editor_with_arguments_and_spaces_in_its_path() {
        assert_eq!(words("code --wait"), ["code", "--wait"]);
        assert_eq!(words(r"/opt/my\ editor/bin -n"), ["/opt/my editor/bin", "-n"]);
        assert_eq!(words("'/opt/my editor/bin' \"a b\" ''"), ["/opt/my editor/bin", "a b", ""]);
        assert_eq!(words("vi; rm -rf $HOME"), ["vi;", "rm", "-rf", "$HOME"]);
    }
}
