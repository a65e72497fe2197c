use crate::support::Home;

const CASE: &str = "50-rules-front-matter";

#[test]
fn front_matter_stays_first_and_valid() {
    let home = Home::new();
    let api = home.put_input(CASE, "rules/api.md", ".claude/rules/api.md");
    let plain = home.put_input(CASE, "rules/plain.md", ".claude/rules/plain.md");
    let broken = home.put_input(CASE, "rules/broken.md", ".claude/rules/broken.md");
    let ui = home.put_input(CASE, "rules/ui.mdc", ".cursor/rules/ui.mdc");
    home.prove(
        Some(&home.project()),
        "Handlers in src/api/users.ts validate the API input with zod",
    );
    home.prove(
        Some(&home.project()),
        "Components in src/ui/Button.tsx use the UI tokens for colour",
    );
    let outcome = home.route().code(6);
    assert!(
        outcome.said().contains("broken.md") && outcome.said().contains("front matter"),
        "{}",
        outcome.out
    );
    assert_eq!(home.get(".claude/rules/broken.md"), broken);
    assert_eq!(home.get(".claude/rules/plain.md"), plain);
    let (api_after, ui_after) =
        (home.get(".claude/rules/api.md"), home.get(".cursor/rules/ui.mdc"));
    assert!(api_after.starts_with(&api) && api_after.contains("zod"), "{api_after}");
    assert!(ui_after.starts_with(&ui) && ui_after.contains("colour"), "{ui_after}");
}
