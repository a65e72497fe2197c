//! How the review looks: the steps on the left, the current one with its diff on the right.

use super::editor::Editor;
use super::{Choice, Review};
use crate::report::{escape_terminal, one_line};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, ListItem, ListState, Paragraph, Wrap};

/// What the lowest line asks.
pub enum Prompt<'a> {
    /// Nothing: it shows the keys.
    Keys,
    /// The new words of a line or a merge.
    Edit(&'a Editor),
    /// Whether to apply.
    Confirm,
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, review: &Review, prompt: &Prompt<'_>) {
    let [body, foot] =
        Layout::vertical([Constraint::Min(3), Constraint::Length(2)]).areas(frame.area());
    if body.width >= 70 {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(42), Constraint::Percentage(58)])
                .areas(body);
        list(frame, review, left);
        main(frame, review, prompt, right);
    } else {
        let [top, below] =
            Layout::vertical([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(body);
        list(frame, review, top);
        main(frame, review, prompt, below);
    }
    footer(frame, review, prompt, foot);
}

fn list(frame: &mut Frame<'_>, review: &Review, area: Rect) {
    let rows: Vec<ListItem<'_>> = review
        .items()
        .iter()
        .map(|item| {
            // The sign says it too, for who sees no colours.
            let (sign, colour) = match item.choice {
                Choice::Accept => ("+", Color::Green),
                Choice::Reject => ("-", Color::Red),
                Choice::Protect => ("#", Color::Yellow),
            };
            let width = usize::from(area.width).saturating_sub(20);
            let text = format!(
                "{sign} {:>4} {:9} {}",
                item.line.n,
                item.line.step,
                one_line(&item.line.summary, width)
            );
            ListItem::new(text).style(Style::new().fg(colour))
        })
        .collect();
    let (accepted, all) = review.accepted();
    let block = Block::bordered().title(format!(" {accepted} of {all} steps "));
    let list =
        List::new(rows).block(block).highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = ListState::default().with_selected(Some(review.at()));
    frame.render_stateful_widget(list, area, &mut state);
}

/// The current step, or its text while it is edited.
fn main(frame: &mut Frame<'_>, review: &Review, prompt: &Prompt<'_>, area: Rect) {
    match prompt {
        Prompt::Edit(editor) => edit(frame, editor, area),
        _ => detail(frame, review, area),
    }
}

fn edit(frame: &mut Frame<'_>, editor: &Editor, area: Rect) {
    let (before, after) = editor.halves();
    let text = format!("{}▏{}", escape_terminal(before), escape_terminal(after));
    let lines: Vec<Line<'_>> = text.split('\n').map(|line| Line::from(line.to_string())).collect();
    let block = Block::bordered().title(" new words ").border_style(Style::new().fg(Color::Yellow));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn detail(frame: &mut Frame<'_>, review: &Review, area: Rect) {
    let Some(item) = review.current() else {
        frame.render_widget(Paragraph::new("nothing to decide").block(Block::bordered()), area);
        return;
    };
    let step = &item.line;
    let mut lines: Vec<Line<'_>> =
        escape_terminal(&step.summary).lines().map(|line| Line::from(line.to_string())).collect();
    lines.push(Line::default());
    if !step.reason.is_empty() {
        lines.push(Line::from(format!("why: {}", escape_terminal(&step.reason))));
        lines.push(Line::default());
    }
    for source in &step.sources {
        let text = format!("from: {}", one_line(source, 400));
        lines.push(Line::from(text).style(Style::new().fg(Color::Cyan)));
    }
    for line in review.diff().unwrap_or_default().lines() {
        let colour = match line.as_bytes().first() {
            Some(b'+') => Style::new().fg(Color::Green),
            Some(b'-') => Style::new().fg(Color::Red),
            Some(b'@') => Style::new().fg(Color::Cyan),
            _ => Style::new(),
        };
        lines.push(Line::from(escape_terminal(line)).style(colour));
    }
    let block = Block::bordered().title(format!(" {} › {} ", step.phase, step.step));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn footer(frame: &mut Frame<'_>, review: &Review, prompt: &Prompt<'_>, area: Rect) {
    let (accepted, all) = review.accepted();
    let text = match prompt {
        Prompt::Keys => "j/k move  y accept  n reject  p protect  e edit  A/N all\nEnter apply  q quit, nothing is applied".to_string(),
        Prompt::Edit(editor) => {
            let lines = if editor.has_lines() { "  Alt+Enter new line" } else { "" };
            format!("Enter takes the words{lines}  Ctrl+U clears\nEsc leaves them as they were")
        }
        Prompt::Confirm => format!("apply {accepted} of {all} steps? y/n"),
    };
    frame.render_widget(Paragraph::new(text), area);
}
