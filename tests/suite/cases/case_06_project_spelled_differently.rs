//! One project is one project, however its path is written.

use crate::capture::{entries, tick};
use crate::support::Home;
use std::fs;

#[cfg(unix)]
#[test]
fn one_project_is_one_project_however_its_path_is_written() {
    let home = Home::new();
    let work = home.path().join("work");
    fs::create_dir_all(work.join("harbor-api/src")).unwrap();
    fs::create_dir_all(work.join("harbor-api/.git")).unwrap();
    fs::create_dir_all(work.join("other")).unwrap();
    std::os::unix::fs::symlink("harbor-api", work.join("ha")).unwrap();
    let spellings =
        ["harbor-api", "harbor-api/", "ha", "other/../harbor-api", "harbor-api/src", "other"];
    for spelling in spellings {
        let folder = format!("{}/{spelling}", work.display());
        home.run(&["add", "--project", &folder, "Linting runs on changed crates only"]).success();
    }
    tick(&home);
    let mut projects: Vec<_> = entries(&home).iter().map(|e| e["project"].clone()).collect();
    projects.sort_by_key(ToString::to_string);
    let wanted = ["harbor-api", "other"].map(|name| work.join(name).to_string_lossy().into_owned());
    assert_eq!(projects, wanted);
    home.run(&["run", "--phase", "connect"]).success();
    assert_eq!(home.json(&["graph"])["links"].as_array().unwrap().len(), 0, "across projects");
}
