use crate::support::Home;

#[test]
fn a_folder_in_the_way() {
    let home = Home::new();
    std::fs::create_dir_all(home.project().join("CLAUDE.md")).unwrap();
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    let outcome = home.route().code(6);
    assert!(outcome.said().contains("is a folder"), "{}", outcome.out);
    assert_eq!(home.state(&id), "proven");
    std::fs::remove_dir(home.project().join("CLAUDE.md")).unwrap();
    home.route().success();
    assert_eq!(home.get("CLAUDE.md").matches("port 5173").count(), 1);
}

#[test]
fn a_file_that_is_read_only() {
    let home = Home::new();
    home.put("CLAUDE.md", "# p\n");
    let file = home.project().join("CLAUDE.md");
    let mut permissions = file.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
    home.route().code(6);
    assert_eq!(home.get("CLAUDE.md"), "# p\n");
    assert_eq!(home.state(&id), "proven");
    assert_eq!(home.files(), ["CLAUDE.md"]);
}

const BEFORE: &str = "# p\n\n- Use pnpm\n";

/// The disk is full from the first effect on, from the second, …: never half a file.
#[test]
fn a_disk_that_is_full_leaves_the_old_file_whole() {
    for at in 1..=60 {
        let home = Home::new();
        home.put("CLAUDE.md", BEFORE);
        home.prove(Some(&home.project()), "The dev server listens on port 5173");
        let fault = format!("enospc@{at}+");
        let run = home.command(&["route"]).env("LIFECYCLE_FAULT", &fault).output().unwrap();
        let now = home.get("CLAUDE.md");
        let whole = now.starts_with(BEFORE) && now.ends_with("<!-- lifecycle:end -->\n");
        assert!(now == BEFORE || whole, "full at {at}: {now}");
        assert_eq!(home.files(), ["CLAUDE.md"], "full at {at}");
        home.route().success();
        assert_eq!(home.get("CLAUDE.md").matches("port 5173").count(), 1, "full at {at}");
        if run.status.success() {
            return;
        }
    }
    panic!("the run has more effects than were tried");
}

/// Every write to a file beyond a kilobyte fails: with the signal that ends the process, and with
/// the signal switched off.
#[test]
fn a_limit_on_the_size_of_files() {
    for trap in ["", "trap '' XFSZ; "] {
        let home = Home::new();
        let before =
            format!("# p\n\n{}", "- A rule of the house that takes some room.\n".repeat(60));
        home.put("CLAUDE.md", &before);
        let id = home.prove(Some(&home.project()), "The dev server listens on port 5173");
        let plain = home.command(&["route"]);
        let script = format!("{trap}ulimit -f 2; exec \"$0\" route");
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(script).arg(plain.get_program()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.current_dir(home.path()).output().unwrap();
        assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(home.get("CLAUDE.md"), before, "neither empty nor half");
        if !trap.is_empty() {
            assert_eq!(home.files(), ["CLAUDE.md"], "no temporary file remains");
        }
        assert_eq!(home.state(&id), "proven");
        home.route().success();
        assert_eq!(home.get("CLAUDE.md").matches("port 5173").count(), 1);
        assert_eq!(home.files(), ["CLAUDE.md"], "no temporary file remains");
    }
}
