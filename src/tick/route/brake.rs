//! The brake on lines that would be rewritten.

use super::super::{Context, Level};
use crate::error::ExitCode;
use lifecycle_phases::{Phase, PlannedStep, RouteOp, Step};

/// Lets `edits` through, or all of them but those that replace or withdraw a line where the tick
/// would do that to more than `route.max_rewrites` lines: then the question is put instead.
pub fn brake(ctx: &mut Context<'_>, edits: Vec<PlannedStep>) -> Vec<PlannedStep> {
    let rewriting = edits.iter().filter(|step| rewrites(step)).count();
    let total = ctx.rewritten + rewriting;
    if rewriting == 0 || ctx.unbraked || total <= ctx.settings.route.max_rewrites {
        ctx.rewritten = total;
        return edits;
    }
    let text = format!(
        "{total} lines of ours would be replaced or taken out at once, so none was; decide on each \
         with `lifecycle review`, or look at `lifecycle run --dry-run --yes` and allow it with \
         `lifecycle run --yes` (route.max_rewrites)"
    );
    ctx.note(Level::Failed, Phase::Route, text);
    ctx.failure.get_or_insert(ExitCode::Refused);
    // A line that others were to give way to has no room without that.
    let full: Vec<String> =
        edits.iter().filter_map(|step| path_if(step, |op| *op == RouteOp::Displace)).collect();
    let has_room = |step: &PlannedStep| path_if(step, |_| true).is_none_or(|p| !full.contains(&p));
    edits.into_iter().filter(|step| !rewrites(step) && has_room(step)).collect()
}

fn path_if(step: &PlannedStep, wanted: impl Fn(&RouteOp) -> bool) -> Option<String> {
    let Step::Route { route, .. } = &step.step else { return None };
    wanted(&route.op).then(|| route.path.clone())
}

/// Whether a step changes a line that stands in a file.
fn rewrites(step: &PlannedStep) -> bool {
    let Step::Route { route, .. } = &step.step else { return false };
    matches!(route.op, RouteOp::Replace { .. } | RouteOp::Withdraw | RouteOp::Displace)
}
