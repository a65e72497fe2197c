#![allow(clippy::unwrap_used)]

use super::*;
use crate::entry::Channel;
use proptest::prelude::*;

fn said(text: &str, conversation: Option<&str>, created: i64) -> Arrival {
    let mut source = Source::new(Channel::Hook, Actor::User);
    source.conversation = conversation.map(str::to_string);
    Arrival { text: text.into(), kind: Kind::Insight, project: Some("/p".into()), created, source }
}

/// What the store would know after `outcome`.
fn stored(outcome: &Outcome) -> Vec<Known> {
    let mut known = BTreeMap::new();
    for planned in &outcome.steps {
        match &planned.step {
            Step::Admit { entry } => {
                let seen = BTreeSet::new();
                let (state, created, kind) = (entry.state, entry.created, entry.kind);
                let (id, origin) = (entry.id.clone(), entry.source.origin());
                known.insert(
                    id.clone(),
                    Known { id, state, recalls: 0, created, kind, origin, seen },
                );
            }
            Step::Recall { entry, to, .. } => known.get_mut(entry).unwrap().recalls = *to,
            _ => {}
        }
    }
    for sighting in &outcome.sightings {
        known.get_mut(&sighting.entry).unwrap().seen.insert(sighting.source.clone());
    }
    known.into_values().collect()
}

fn names(outcome: &Outcome) -> Vec<&'static str> {
    outcome.steps.iter().map(|planned| planned.step.name()).collect()
}

#[test]
fn a_text_is_admitted_once_and_recalled_once_a_source() {
    let arrivals =
        [said("Deploys on Tuesday", Some("a"), 1), said(" Deploys  on Tuesday\n", Some("b"), 2)];
    let outcome = decide(&arrivals, &[]);
    assert_eq!(names(&outcome), ["admit", "recall"]);
    assert_eq!(names(&decide(&arrivals, &stored(&outcome))), [""; 0]);
}

#[test]
fn a_note_written_again_with_another_full_stop_is_the_same_note() {
    let spellings = ["Run `make dev` first.", "run make dev first", "Run `make dev` first!"];
    let arrivals: Vec<Arrival> =
        spellings.iter().zip(1..).map(|(text, at)| said(text, None, at)).collect();
    let outcome = decide(&arrivals, &[]);
    assert_eq!(names(&outcome), ["admit", "recall"]);
    let Step::Admit { entry } = &outcome.steps[0].step else { panic!("{outcome:?}") };
    assert_eq!(entry.text, spellings[0], "the first one as it was written");
    let other = [said("Run make dev first?", None, 4), said("Run make dev1 first", None, 5)];
    assert_eq!(names(&decide(&other, &stored(&outcome))), ["admit", "admit"]);
}

#[test]
fn single_adds_count_each() {
    let arrivals = [said("x y", None, 1), said("x y", None, 2), said("x y", None, 3)];
    let outcome = decide(&arrivals, &[]);
    assert!(matches!(outcome.steps[1].step, Step::Recall { from: 0, to: 2, .. }));
}

#[test]
fn nothing_readable_is_refused() {
    let arrivals =
        [said("", None, 1), said(" \u{0}\u{202e}\n\t\u{feff}", None, 1), said("🚢", None, 1)];
    let outcome = decide(&arrivals, &[]);
    assert_eq!((names(&outcome), outcome.refused), (vec!["admit"], 2));
}

#[test]
fn an_expired_entry_comes_back() {
    let arrivals = [said("x", Some("b"), 5)];
    let mut known = stored(&decide(&[said("x", Some("a"), 1)], &[]));
    known[0].state = State::Expired;
    assert_eq!(names(&decide(&arrivals, &known)), ["set_state", "recall"]);
}

#[test]
fn an_assistant_repeating_it_changes_nothing() {
    let known = stored(&decide(&[said("x", Some("a"), 1)], &[]));
    let mut echo = said("x", Some("b"), 9);
    echo.source.actor = Actor::Assistant;
    assert_eq!(names(&decide(&[echo], &known)), [""; 0]);
}

#[test]
fn a_line_copied_into_a_fork_is_not_a_recall() {
    let known = stored(&decide(&[said("x", Some("a"), 77)], &[]));
    assert_eq!(names(&decide(&[said("x", Some("fork"), 77)], &known)), [""; 0]);
}

#[test]
fn an_explicit_decision_outweighs_an_earlier_mention() {
    let mut marked = said("x", Some("a"), 2);
    marked.kind = Kind::Decision;
    let outcome = decide(&[said("x", Some("a"), 1), marked], &[]);
    let Step::Admit { entry } = &outcome.steps[0].step else { panic!("admitted first") };
    assert_eq!((entry.kind, entry.created), (Kind::Decision, 1));
}

#[test]
fn who_is_more_trustworthy_attests_and_a_tool_takes_nothing_away() {
    let by = |actor: Actor, conversation: &str| {
        let mut arrival = said("Never rebase main.", Some(conversation), 3);
        arrival.source = Source {
            conversation: arrival.source.conversation,
            ..Source::new(Channel::Hook, actor)
        };
        arrival
    };
    let page = |conversation: &str| {
        let arrival = by(Actor::Tool, conversation);
        Arrival { source: arrival.source.clone().with_origin(Origin::Web), ..arrival }
    };
    let known = stored(&decide(&[page("a"), by(Actor::Tool, "a")], &[]));
    assert_eq!(known[0].origin, Origin::Tool, "the stronger of two");
    let attested = decide(&[by(Actor::User, "b"), page("c")], &known);
    assert!(matches!(
        attested.steps[0].step,
        Step::Attest { from: Origin::Tool, to: Origin::User, .. }
    ));
    let said_by_user = stored(&decide(&[by(Actor::User, "a")], &[]));
    assert_eq!(names(&decide(&[page("b")], &said_by_user)), [""; 0]);
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let text = prop_oneof!["[ab \n]{0,4}", "\\PC{0,6}", any::<String>()];
    let one =
        (text, prop::option::of("[abc]"), 0i64..4, 0usize..3).prop_map(|(text, c, at, kind)| {
            Arrival { kind: Kind::ALL[kind], ..said(&text, c.as_deref(), at) }
        });
    prop::collection::vec(one, 0..12)
}

proptest! {
    #[test]
    fn order_does_not_matter(arrivals in arrivals(), seed in any::<u64>()) {
        let mut shuffled = arrivals.clone();
        shuffled.sort_by_key(|a| blake3::hash(format!("{seed}{a:?}").as_bytes()).to_string());
        prop_assert_eq!(ask(&arrivals), ask(&shuffled));
        prop_assert_eq!(decide(&arrivals, &[]), decide(&shuffled, &[]));
    }

    #[test]
    fn each_id_is_admitted_once_and_asked_for(arrivals in arrivals()) {
        let outcome = decide(&arrivals, &[]);
        let mut admitted: Vec<EntryId> = outcome.steps.iter()
            .filter(|p| p.step.name() == "admit").filter_map(|p| p.step.entry().cloned()).collect();
        admitted.sort();
        prop_assert_eq!(admitted, ask(&arrivals));
    }

    #[test]
    fn a_conversation_read_again_changes_nothing(arrivals in arrivals()) {
        let arrivals: Vec<_> = arrivals.into_iter().filter(|a| a.source.conversation.is_some()).collect();
        let known = stored(&decide(&arrivals, &[]));
        prop_assert!(decide(&arrivals, &known).steps.is_empty());
    }

    #[test]
    fn stored_text_is_clean(arrivals in arrivals()) {
        for planned in decide(&arrivals, &[]).steps {
            if let Step::Admit { entry } = planned.step {
                prop_assert_eq!(clean(&entry.text), Some(entry.text.clone()));
            }
        }
    }
}
