//! How the review looks: the steps on the left, the current one with its diff on the right.

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
    /// The new words of a line.
    Edit(&'a str),
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
        detail(frame, review, right);
    } else {
        let [top, below] =
            Layout::vertical([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(body);
        list(frame, review, top);
        detail(frame, review, below);
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

fn detail(frame: &mut Frame<'_>, review: &Review, area: Rect) {
    let Some(item) = review.current() else {
        frame.render_widget(Paragraph::new("nothing to decide").block(Block::bordered()), area);
        return;
    };
    let step = &item.line;
    let mut lines = vec![Line::from(escape_terminal(&step.summary)), Line::default()];
    if !step.reason.is_empty() {
        lines.push(Line::from(format!("why: {}", escape_terminal(&step.reason))));
        lines.push(Line::default());
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
        Prompt::Keys => "j/k move  y accept  n reject  p protect  e edit line  A/N all\nEnter apply  q quit, nothing is applied".to_string(),
        Prompt::Edit(text) => format!("new line (Enter takes it, Esc does not):\n{text}▏"),
        Prompt::Confirm => format!("apply {accepted} of {all} steps? y/n"),
    };
    frame.render_widget(Paragraph::new(text), area);
}
