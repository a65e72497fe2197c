//! The files of the index under whole ticks: damaged, foreign, stale, in the way, growing.
//!
//! Vectors come from a server on loopback, so that each tick costs little: four subjects, ten words
//! by chance a text, so that nothing but the vectors links two of them.

use crate::embed_change::made_up_words;
use crate::embed_server::{StandIn, sound};
use crate::support::Home;
use lifecycle::clock::Clock;
use lifecycle::config::{Layers, Origin, Settings};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store, links};
use lifecycle::tick::{self, RunOptions};
use lifecycle_phases::{Actor, Channel, Entry, Kind, Phase, PlannedStep, Source, Step};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const DIMENSIONS: usize = 64;

/// Every vector is compared.
const EXACT: &str = "exact_numbers = 1073741824";
/// A graph from the third vector of a project on.
const HNSW: &str = "exact_numbers = 128";

fn server() -> StandIn {
    let places: HashMap<String, usize> = (0..3_000).map(|n| (made_up_words(n), n)).collect();
    let vector = move |text: &str| {
        let n = places[text];
        let mut vector = vec![0.0f32; DIMENSIONS];
        vector[n % 4] = 0.95;
        vector[4 + n * 7 % 59] = 0.3;
        serde_json::json!(lifecycle::embed::unit(vector, DIMENSIONS).unwrap())
    };
    StandIn::new(move |texts| sound(texts, &vector))
}

struct World {
    folder: tempfile::TempDir,
    settings: Settings,
}

impl World {
    fn new(server: &StandIn, kind: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("data")).unwrap();
        let mut layers = Layers::defaults();
        let text =
            format!("[embed]\nserve = \"off\"\nurl = \"{}\"\n[connect]\n{kind}\n", server.url);
        layers.merge_text(&text, Origin::Flag).unwrap();
        Self { folder, settings: layers.settings().unwrap() }
    }

    /// The same store in another folder.
    fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in walkdir::WalkDir::new(self.folder.path()).into_iter().map(Result::unwrap) {
            let to = folder.path().join(file.path().strip_prefix(self.folder.path()).unwrap());
            if file.file_type().is_dir() {
                std::fs::create_dir_all(to).unwrap();
            } else {
                std::fs::copy(file.path(), to).unwrap();
            }
        }
        Self { folder, settings: self.settings.clone() }
    }

    fn paths(&self) -> Paths {
        let root = self.folder.path();
        Paths { data: root.join("data"), config_file: root.join("c.toml"), home: root.into() }
    }

    fn add(&self, notes: impl IntoIterator<Item = usize>, project: &str) {
        let step = |n: usize| {
            let source = Source::new(Channel::Cli, Actor::User);
            let text = made_up_words(n);
            let entry = Entry::new(&text, Kind::Insight, Some(project.into()), 1, source);
            PlannedStep::new(Phase::Buffer, Step::Admit { entry: Box::new(entry) }, "test")
        };
        let steps = notes.into_iter().map(step).collect();
        tick::by_hand(&self.settings, &self.paths(), Clock::Fixed(1), "run", steps).unwrap();
    }

    /// Connects; what the report says.
    fn connect(&self) -> Vec<String> {
        let phases = vec![Phase::Connect];
        let options = RunOptions { phases, dry_run: false, yes: false, trigger: "run" };
        let run = tick::run(&self.settings, &self.paths(), Clock::Fixed(2), &options).unwrap();
        run.report.notes.iter().map(|note| note.text.clone()).collect()
    }

    /// Six entries, whose vectors the second run puts into files.
    fn filed(server: &StandIn, kind: &str) -> Self {
        let world = Self::new(server, kind);
        world.add(0..6, "/p");
        assert_eq!(world.connect(), [""; 0]);
        world.add(6..7, "/p");
        assert_eq!(world.connect(), [""; 0]);
        world
    }

    /// Two more runs with news; what each of them says.
    fn go_on(&self) -> [Vec<String>; 2] {
        self.add(7..9, "/p");
        let first = self.connect();
        self.add(9..11, "/p");
        [first, self.connect()]
    }

    fn links(&self) -> Vec<(String, String)> {
        let store = Store::open(&self.paths(), &self.settings).unwrap();
        let descriptor = store::descriptors(store.reader()).unwrap().pop().unwrap();
        let links = links::links(store.reader(), &descriptor, None).unwrap();
        let ends = |link: links::StoredLink| (link.link.a.to_string(), link.link.b.to_string());
        let mut ends: Vec<_> = links.into_iter().map(ends).collect();
        ends.sort();
        ends
    }

    fn files(&self) -> Vec<PathBuf> {
        let listing = std::fs::read_dir(self.paths().index()).unwrap();
        let mut files: Vec<PathBuf> = listing.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    fn file(&self, ending: &str) -> PathBuf {
        let fits = |file: &PathBuf| file.to_string_lossy().ends_with(ending);
        self.files().into_iter().find(fits).unwrap()
    }
}

type Damage = (&'static str, fn(&Path));

fn with_bytes(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

fn folder_instead(file: &Path) {
    std::fs::remove_file(file).unwrap();
    std::fs::create_dir(file).unwrap();
}

const DAMAGES: &[Damage] = &[
    ("a flipped bit at the end", |file| {
        with_bytes(file, |bytes| *bytes.last_mut().unwrap() ^= 0x20);
    }),
    ("a flipped bit in the middle", |file| {
        with_bytes(file, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x01;
        });
    }),
    ("a flipped bit at the start", |file| with_bytes(file, |bytes| bytes[0] ^= 0x80)),
    ("cut at its end", |file| with_bytes(file, |bytes| bytes.truncate(bytes.len() - 7))),
    ("cut to half", |file| with_bytes(file, |bytes| bytes.truncate(bytes.len() / 2))),
    ("cut to little", |file| with_bytes(file, |bytes| bytes.truncate(5))),
    ("empty", |file| with_bytes(file, Vec::clear)),
    ("junk", |file| with_bytes(file, |bytes| *bytes = vec![0xa5; 4_096])),
    ("more at its end", |file| with_bytes(file, |bytes| bytes.extend([7; 50]))),
    ("a folder in its place", folder_instead),
    ("a folder with a file in its place", |file| {
        folder_instead(file);
        std::fs::write(file.join("somebody's"), "text").unwrap();
    }),
];

#[cfg(unix)]
const UNREADABLE: &[Damage] = &[
    ("a link to itself in its place", |file| {
        std::fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink(file, file).unwrap();
    }),
    ("a link to nothing in its place", |file| {
        std::fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", file).unwrap();
    }),
    ("a pipe in its place", |file| {
        std::fs::remove_file(file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(file).status().unwrap();
        assert!(made.success());
    }),
];

#[cfg(not(unix))]
const UNREADABLE: &[Damage] = &[];

/// Links of a store whose files nobody touched.
fn undisturbed(server: &StandIn) -> Vec<(String, String)> {
    let world = World::filed(server, EXACT);
    assert_eq!(world.go_on(), [vec![], vec![]] as [Vec<String>; 2]);
    let links = world.links();
    assert!(links.len() > 8, "{links:?}");
    links
}

fn built_anew_once([first, second]: &[Vec<String>; 2], what: &str) {
    assert_eq!(first.len(), 1, "{what}: {first:?}");
    assert!(first[0].contains("was built anew"), "{what}: {first:?}");
    assert!(second.is_empty(), "{what}: {second:?}");
}

#[test]
fn any_damage_is_one_warning_and_the_same_links() {
    let server = server();
    let whole = undisturbed(&server);
    for (kind, endings) in [(EXACT, &[".index"][..]), (HNSW, &[".index", ".hnsw", ".hnsw.sum"][..])]
    {
        let origin = World::filed(&server, kind);
        for ending in endings {
            for (name, damage) in DAMAGES.iter().chain(UNREADABLE) {
                let what = format!("{kind}, {ending}: {name}");
                let world = origin.copy();
                damage(&world.file(ending));
                built_anew_once(&world.go_on(), &what);
                assert_eq!(world.links(), whole, "{what}");
                assert_eq!(world.copy().go_on_alone(), [""; 0], "{what}");
            }
        }
    }
}

impl World {
    /// One more run with news; what it says.
    fn go_on_alone(&self) -> Vec<String> {
        self.add(20..21, "/p");
        self.connect()
    }
}

#[test]
fn a_missing_file_is_no_damage_but_where_another_one_speaks_of_it() {
    let server = server();
    let whole = undisturbed(&server);
    for (kind, ending, warned) in [
        (EXACT, ".index", false),
        (HNSW, ".hnsw", false),
        (HNSW, ".index", true),
        (HNSW, ".hnsw.sum", true),
    ] {
        let world = World::filed(&server, kind);
        std::fs::remove_file(world.file(ending)).unwrap();
        let said = world.go_on();
        match warned {
            true => built_anew_once(&said, ending),
            false => assert_eq!(said, [vec![], vec![]] as [Vec<String>; 2], "{ending}"),
        }
        assert_eq!(world.links(), whole, "{kind} {ending}");
    }
}

#[test]
fn files_of_another_model_project_or_store_are_not_used() {
    let server = server();
    let whole = undisturbed(&server);
    for kind in [EXACT, HNSW] {
        let endings: &[&str] = if kind == EXACT { &[".index"] } else { &[".index", ".hnsw"] };
        let named = |name: &str| {
            let mut world = World::new(&server, kind);
            world.settings.embed.url_model = name.into();
            world
        };
        // Another model with the same vectors; the same model in a store with other entries.
        let (other_model, other_store) = (named("other"), World::new(&server, kind));
        for (other, notes) in [(&other_model, 0..7), (&other_store, 30..37)] {
            other.add(notes.clone(), "/p");
            other.connect();
            other.add(notes.end..notes.end + 1, "/p");
            other.connect();
            for ending in endings {
                let world = World::filed(&server, kind);
                std::fs::copy(other.file(ending), world.file(ending)).unwrap();
                let what = format!("{kind}, {ending}, {notes:?}");
                built_anew_once(&world.go_on(), &what);
                assert_eq!(world.links(), whole, "{what}");
            }
        }
        // All files of another project of the same store, under the names of this one.
        let world = World::filed(&server, kind);
        let own = world.files();
        world.add(40..47, "/q");
        world.connect();
        world.add(47..48, "/q");
        world.connect();
        for mine in own {
            let ending = mine.file_name().unwrap().to_string_lossy()[24..].to_string();
            let theirs = world.files().into_iter().find(|file| {
                *file != mine && file.file_name().unwrap().to_string_lossy()[24..] == ending
            });
            std::fs::copy(theirs.unwrap(), &mine).unwrap();
        }
        built_anew_once(&world.go_on(), &format!("{kind}, another project"));
        let of_p = |links: Vec<(String, String)>| -> Vec<(String, String)> {
            links.into_iter().filter(|link| whole.contains(link)).collect()
        };
        assert_eq!(of_p(world.links()), whole, "{kind}");
    }
}

#[test]
fn files_with_more_or_fewer_rows_than_the_store_give_the_same_links() {
    let server = server();
    let whole = undisturbed(&server);
    for kind in [EXACT, HNSW] {
        // The files are ahead: the store was put back to an older copy.
        let world = World::filed(&server, kind);
        let older = world.copy();
        world.add(20..26, "/p");
        world.connect();
        world.add(26..27, "/p");
        world.connect();
        for file in world.files() {
            std::fs::copy(&file, older.paths().index().join(file.file_name().unwrap())).unwrap();
        }
        built_anew_once(&older.go_on(), &format!("{kind}, ahead of the store"));
        assert_eq!(older.links(), whole, "{kind}, ahead of the store");
        // The files are behind: they are completed, and nothing is wrong with that.
        let world = World::filed(&server, kind);
        let before = world.copy();
        let said = world.go_on();
        assert_eq!(said, [vec![], vec![]] as [Vec<String>; 2]);
        for file in before.files() {
            std::fs::copy(&file, world.paths().index().join(file.file_name().unwrap())).unwrap();
        }
        for file in world.files() {
            let known = before.paths().index().join(file.file_name().unwrap()).exists();
            if !known {
                std::fs::remove_file(file).unwrap();
            }
        }
        assert_eq!(world.go_on_alone(), [""; 0], "{kind}, behind the store");
        assert!(world.links().len() > whole.len(), "{kind}, behind the store");
    }
}

#[test]
fn both_kinds_give_the_same_links_and_status_names_them() {
    let server = server();
    for (kind, name, graphs) in [(EXACT, "exact", 0), (HNSW, "hnsw", 1)] {
        let world = World::filed(&server, kind);
        world.go_on();
        assert_eq!(world.links(), undisturbed(&server), "{kind}");
        let url = format!("embed.url={}", server.url);
        let status = |more: &[&str]| {
            let set = format!("connect.{}", kind.replace(' ', ""));
            let home = Home::new();
            let mut command = home.command(&["--set", &url, "--set", &set, "status"]);
            command.args(more).env("LIFECYCLE_HOME", world.paths().data);
            let out = command.output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap()
        };
        let json: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
        let index = &json["index"];
        assert_eq!(index["kind"], name);
        assert_eq!((&index["projects"], &index["graphs"]), (&1.into(), &graphs.into()));
        // The last two notes are stored, and in the file from the next run on.
        assert_eq!(index["vectors"], 9);
        let text = status(&[]);
        let line = text.lines().find(|line| line.starts_with("neighbours")).unwrap();
        assert!(line.contains(&format!(" {name}, 9 vectors")), "{line}");
    }
}

/// What connecting 20 new entries writes in all and to the index, in bytes, on top of `stored` ones.
#[cfg(target_os = "linux")]
fn twenty_more(server: &StandIn, stored: usize) -> (u64, u64) {
    let world = World::new(server, EXACT);
    for start in (0..stored).step_by(100) {
        world.add(start..start + 100, "/p");
    }
    world.connect();
    let size = |world: &World| std::fs::metadata(world.file(".index")).map_or(0, |file| file.len());
    world.add(stored..stored + 20, "/p");
    world.connect();
    let before = size(&world);
    world.add(stored + 20..stored + 40, "/p");
    let home = Home::new();
    let command = home.command(&[]);
    let url = format!("embed.url={}", server.url);
    // The shell's account has what the processes that it waited for have written.
    let out = std::process::Command::new("sh")
        .args(["-c", "\"$0\" \"$@\" > /dev/null && cat /proc/$$/io"])
        .arg(command.get_program())
        .args(["--set", &url, "--set", "embed.serve=off", "run", "--phase", "connect"])
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("LIFECYCLE_HOME", world.paths().data)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    (number("wchar:"), size(&world) - before)
}

#[cfg(target_os = "linux")]
#[test]
fn connecting_twenty_more_writes_by_what_is_new() {
    let server = server();
    let (written_small, grown_small) = twenty_more(&server, 200);
    let (written_large, grown_large) = twenty_more(&server, 1_600);
    // A key, a scale and a code each, and the head of the segment: the 20 of the tick before.
    assert_eq!(grown_small, 44 + 20 * (8 + 4 + DIMENSIONS as u64));
    assert_eq!(grown_large, grown_small);
    let most = written_small + written_small / 2;
    assert!(written_large <= most, "{written_small} against {written_large} bytes written");
}
