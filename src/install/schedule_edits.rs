//! The schedule as edits: the unit files of systemd or launchd, or our part of the crontab.

use super::{Edit, Place, read};
use crate::error::{Error, Result};
use crate::schedule::{Backend, Unit, crontab};
use std::path::Path;

/// What the schedule changes: files, or the crontab.
pub fn schedule_edits(unit: &Unit, by: Backend, home: &Path) -> Result<Vec<Edit>> {
    if by == Backend::Cron {
        let before = read(&Place::Crontab)?;
        let table = text(before.as_deref())?;
        let base = crontab::without_part(table, &unit.folder);
        return Ok(vec![Edit {
            place: Place::Crontab,
            owner: "schedule",
            base: before.as_ref().map(|_| base.into_bytes()),
            after: Some(crontab::with_part(table, &unit.cron(), &unit.folder).into_bytes()),
            before,
        }]);
    }
    unit.files(by, home)
        .into_iter()
        .map(|(path, content)| {
            let place = Place::File(path);
            let before = read(&place)?;
            Ok(Edit {
                place,
                owner: "schedule",
                base: None,
                before,
                after: Some(content.into_bytes()),
            })
        })
        .collect()
}

/// A place of the schedule that somebody changed, without the part of the store in `folder`.
pub fn strip_schedule(place: &Place, now: &[u8], folder: &Path) -> Result<Vec<u8>> {
    match place {
        Place::Crontab => {
            let folder = folder.display().to_string();
            Ok(crontab::without_part(text(Some(now))?, &folder).into_bytes())
        }
        Place::File(path) => Err(Error::refused(format!(
            "{} was changed by hand; remove it yourself if it is no longer wanted",
            path.display()
        ))),
    }
}

fn text(bytes: Option<&[u8]>) -> Result<&str> {
    std::str::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| Error::input("the crontab is not UTF-8; it was left alone"))
}
