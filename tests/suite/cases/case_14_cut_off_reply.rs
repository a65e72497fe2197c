use crate::support::merging::{BERTH, Merging, berth, text};
use crate::support::standin::Reply;

#[test]
fn whatever_breaks_nothing_is_lost_and_the_next_run_merges_once() {
    for reply in [
        Reply::text("{\"entries\":[{\"text\":\"The berth buffer is 25 m, tankers incl"),
        Reply::Raw(500, b"{\"error\":\"x\"}".to_vec()),
        Reply::Close,
        Reply::Hang,
    ] {
        let case = Merging::new("openai-compatible");
        case.add(BERTH);
        case.server.replies([reply]);
        assert_eq!(case.run(), 6);
        case.untouched();
        let status = case.home.json(&["status"]);
        assert_eq!(status["links"], 3, "linking needs no model: {status}");
        assert_eq!(status["health"], "failing");
        case.server.replies(text(&berth()));
        assert_eq!(case.run(), 0);
        assert_eq!(case.proven().len(), 1);
        assert_eq!(case.states().len(), 4);
    }
}

#[test]
fn without_a_server_the_status_names_the_model_as_the_cause() {
    let case = Merging::new("openai-compatible");
    case.add(BERTH);
    case.connect();
    let set = [
        "--set",
        "consolidate.providers.m.url=\"http://127.0.0.1:9\"",
        "run",
        "--phase",
        "consolidate",
        "--phase",
        "age",
    ];
    let outcome = case.home.run(&set).code(6);
    assert!(outcome.out.contains("127.0.0.1:9 does not answer"), "{}", outcome.out);
    case.untouched();
}
