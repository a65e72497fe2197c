use super::embedding::{home_at, run};
use crate::support::standin::{Standin, Vectors};

#[test]
fn it_is_found_and_repaired() {
    let server = Standin::start();
    let vectors = Vectors::default().rule("board", 1, 0.1);
    server.vectors(vectors).embed_status(503);
    let home = home_at(&server.url());
    let project = home.project().display().to_string();
    home.run(&["add", "--project", &project, "Pilots board at the outer buoy"]).success();
    run(&home).code(6);

    let down = home.json(&["search", "where do pilots board"]);
    assert!(down.to_string().contains("outer buoy"), "words find it meanwhile: {down}");
    assert!(down.to_string().contains("503"), "and it is said that meaning was not used: {down}");
    assert_eq!(home.json(&["status"])["unconnected"], 1);

    server.embed_status(200);
    run(&home).success();
    assert_eq!(home.json(&["status"])["unconnected"], 0);
    let up = home.json(&["search", "where do pilots board"]);
    assert!(up.to_string().contains("outer buoy"), "{up}");
}
