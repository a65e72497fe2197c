//! Files of a model repository at a fixed revision: streamed, resumed, checked.

use super::{Wanted, place};
use crate::error::{Error, ExitCode, Result};
use crate::progress::Progress;
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_RANGE, RANGE};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest silence on the line before a download is given up (and can be resumed).
const SILENCE: Duration = Duration::from_secs(60);

/// Downloads `path` below `base`. What came before an interruption is kept beside the place as
/// `.part` and continued by the next call.
pub(super) fn download(base: &str, path: &str, wanted: &Wanted) -> Result<()> {
    let folder = wanted.place.parent().unwrap_or(Path::new("."));
    crate::paths::create_private(folder)?;
    let part = part(&wanted.place);
    let url = format!("{}/{path}", base.trim_end_matches('/'));
    receive(&url, &part, wanted).map_err(|error| {
        error.hint(
            "run it again to continue where it stopped, or give the files with `--from FOLDER`",
        )
    })?;
    check_whole(&url, &part, wanted)?;
    let found = place::sum(&part).map_err(|error| Error::io(&part, &error))?;
    if found != wanted.sha256 {
        let removed = std::fs::remove_file(&part);
        removed.map_err(|error| Error::io(&part, &error))?;
        return Err(place::wrong_sum(&url, wanted.sha256, &found));
    }
    std::fs::rename(&part, &wanted.place).map_err(|error| Error::io(&wanted.place, &error))
}

fn part(place: &Path) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    place.with_file_name(name)
}

fn receive(url: &str, part: &Path, wanted: &Wanted) -> Result<()> {
    let mut file = open_part(part)?;
    let broken = |error: std::io::Error| Error::io(part, &error);
    let mut have = file.metadata().map_err(broken)?.len();
    if have == wanted.bytes {
        return Ok(());
    }
    if have > wanted.bytes {
        have = 0;
    }
    let client = client(url)?;
    let mut response = request(&client, url, have)?;
    if have > 0 && !continues(&response, have) {
        // A server without ranges sends the whole file; one that refuses this range, or sends
        // another, is asked for the whole.
        have = 0;
        if response.status() != StatusCode::OK {
            response = request(&client, url, have)?;
        }
    }
    let response = response.error_for_status().map_err(|error| failed(url, &error))?;
    file.set_len(have).and_then(|()| file.seek(SeekFrom::End(0))).map_err(broken)?;
    // One byte more than wanted is enough to know that it is another file.
    let body = response.take(wanted.bytes - have + 1);
    stream(bar(wanted, have).read(body), &mut file)
        .and_then(|()| file.sync_all())
        .map_err(|error| failed(url, &error))
}

/// The file that holds what came so far, for one download at a time.
fn open_part(part: &Path) -> Result<File> {
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(part);
    let file = opened.map_err(|error| Error::io(part, &error))?;
    file.try_lock().map_err(|_| {
        Error::new(ExitCode::Busy, format!("{} is being downloaded already", part.display()))
    })?;
    Ok(file)
}

/// Whether the answer goes on after `have` bytes.
fn continues(response: &Response, have: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let starts = range.is_none_or(|range| range.starts_with(&format!("bytes {have}-")));
    response.status() == StatusCode::PARTIAL_CONTENT && starts
}

/// A connection that ended early is continued by the next call.
fn check_whole(url: &str, part: &Path, wanted: &Wanted) -> Result<()> {
    let have = std::fs::metadata(part).map_or(0, |data| data.len());
    if have < wanted.bytes {
        return Err(failed(url, &format!("ended after {have} of {} bytes", wanted.bytes))
            .hint("run it again to continue where it stopped"));
    }
    Ok(())
}

fn client(url: &str) -> Result<Client> {
    // Content that is compressed on its way has other offsets than the file.
    let builder = Client::builder().timeout(SILENCE).connect_timeout(SILENCE).gzip(false);
    builder.build().map_err(|error| failed(url, &error))
}

/// An answer, whatever its status; redirections are followed.
fn request(client: &Client, url: &str, have: u64) -> Result<Response> {
    let mut request = client.get(url);
    if have > 0 {
        request = request.header(RANGE, format!("bytes={have}-"));
    }
    request.send().map_err(|error| failed(url, &error))
}

fn stream(mut from: impl Read, to: &mut File) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count])?,
        }
    }
}

fn bar(wanted: &Wanted, done: u64) -> Progress {
    let name = wanted.place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Progress::bytes(name, wanted.bytes, done)
}

fn failed(url: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(ExitCode::Missing, format!("{url}: {error}"))
}
