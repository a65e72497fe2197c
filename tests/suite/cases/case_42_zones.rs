//! Ages do not depend on the time zone: the same store aged under three of them.

use crate::support::Home;

#[test]
fn the_same_is_expired_kept_and_merged_in_every_zone() {
    let mut outcomes = Vec::new();
    for (zone, shown_as) in [
        ("America/Los_Angeles", "2026-03-28 23:30:00 -07:00"),
        ("Asia/Kolkata", "2026-03-29 12:00:00 +05:30"),
        ("Pacific/Auckland", "2026-03-29 19:30:00 +13:00"),
    ] {
        let mut home = Home::new();
        home.set("TZ", zone);
        // One place for all, so that ids do not differ by the path of the project.
        for (n, note) in [
            "ok, lamp done for now",
            "Integration tests need `docker compose up -d pg` before `cargo test`",
            "The integration tests fail unless postgres runs: `docker compose up -d pg`",
            "Run `docker compose up -d pg` first: the integration tests need postgres",
            "`init_pool` must run before fork, otherwise workers share a socket",
        ]
        .iter()
        .enumerate()
        {
            // Over the change to summer time.
            let now = format!("2026-03-29T0{n}:15:00Z");
            home.run(&["--now", &now, "add", "--project", "/home/robin/work/harbor-api", note])
                .success();
        }
        let now = ["--now", "2026-03-29T06:30:00Z", "--set", "age.newer_entries=1"];
        home.run(
            &[
                &now[..],
                &[
                    "run",
                    "--phase",
                    "buffer",
                    "--phase",
                    "connect",
                    "--phase",
                    "consolidate",
                    "--phase",
                    "age",
                ],
            ]
            .concat(),
        );
        outcomes.push(home.json(&["list", "--all"]));
        let shown = home.run(&["status"]).success().out;
        assert!(shown.contains(shown_as), "people see the zone: {shown}");
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[1], outcomes[2]);
    let states = outcomes[0].to_string();
    assert!(states.contains("expired") && states.contains("merged"), "{states}");
}
