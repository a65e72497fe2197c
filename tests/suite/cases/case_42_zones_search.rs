//! Search's half of: times in JSON are UTC with Z, whatever the zone of the machine.

use crate::support::Home;

#[test]
fn times_of_results_do_not_depend_on_the_zone() {
    let home = Home::new();
    home.run(&["add", "Quay 7 closes in winter", "--now", "2026-03-29T01:30:00Z"]).success();
    home.run(&["add-text", "Quay 8 is open", "--now", "2026-03-29T01:30:00Z"]).success();
    let mut answers = Vec::new();
    for zone in ["America/Los_Angeles", "Asia/Kolkata", "Pacific/Auckland"] {
        let output = home.command(&["search", "quay", "--json"]).env("TZ", zone).output().unwrap();
        assert!(output.status.success());
        answers.push(output.stdout);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    let answer: serde_json::Value = serde_json::from_slice(&answers[0]).unwrap();
    for hit in answer["results"].as_array().unwrap() {
        assert_eq!(hit["created"], "2026-03-29T01:30:00Z");
    }
}
