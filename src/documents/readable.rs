//! The readable part of a page as Markdown: headings, lists, tables and code stay; navigation,
//! scripts and forms go.

use super::fetch::Page;
use crate::error::{Error, Result};
use dom_smoothie::{Config, ParsePolicy, Readability, TextMode};

/// Pages with more elements are not read.
const MOST_ELEMENTS: usize = 200_000;

/// Title and Markdown of a page; text that is no HTML stays as it is.
pub fn markdown(page: &Page) -> Result<(String, String)> {
    if !page.is_html {
        return Ok((String::new(), page.body.clone()));
    }
    let best = read(page, None).filter(|(_, text)| !text.trim().is_empty());
    // A page too short for the usual judgement is taken whole.
    best.or_else(|| read(page, Some(ParsePolicy::Raw)))
        .filter(|(_, text)| !text.trim().is_empty())
        .ok_or_else(|| Error::input(format!("{}: nothing readable is on the page", page.url)))
}

fn read(page: &Page, policy: Option<ParsePolicy>) -> Option<(String, String)> {
    let config = Config {
        text_mode: TextMode::Markdown,
        max_elements_to_parse: MOST_ELEMENTS,
        ..Config::default()
    };
    let mut reader = Readability::new(page.body.as_str(), Some(&page.url), Some(config)).ok()?;
    let article = match policy {
        Some(policy) => reader.parse_with_policy(policy),
        None => reader.parse(),
    };
    article.ok().map(|article| (article.title, article.text_content.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn structure_stays_and_decoration_goes() {
        let filler =
            "The harbor keeps a berth buffer for large ships at all times, in any weather, \
            because pilots asked for it after the storm of last winter. "
                .repeat(4);
        let body = format!(
            "<html><head><title>Berths</title><script>track()</script></head><body>
            <nav><a href='/'>Home</a><a href='/x'>Elsewhere</a></nav>
            <article><h1>Berths</h1><p>{filler}</p><h2>Buffer</h2>
            <ul><li>forty metres</li><li>two tugs</li></ul>
            <pre><code>let buffer = 40;\nrun();</code></pre>
            <table><tr><th>Ship</th><th>Length</th></tr><tr><td>Ada</td><td>120</td></tr></table>
            <p>{filler}</p></article>
            <form><input name=q><button>Subscribe now</button></form></body></html>"
        );
        let page = Page { url: "https://example.org/b".into(), is_html: true, body };
        let (title, text) = markdown(&page).unwrap();
        assert_eq!(title, "Berths");
        for kept in
            ["## Buffer", "forty metres", "let buffer = 40;\nrun();", "| Ada", "berth buffer"]
        {
            assert!(text.contains(kept), "{kept} is missing in\n{text}");
        }
        for gone in ["track()", "Elsewhere", "Subscribe"] {
            assert!(!text.contains(gone), "{gone} is in\n{text}");
        }
    }

    #[test]
    fn a_short_page_is_taken_whole() {
        let body = "<html><body><h1>Port</h1><p>8080</p></body></html>".to_string();
        let page = Page { url: "https://example.org/".into(), is_html: true, body };
        assert!(markdown(&page).unwrap().1.contains("8080"));
    }
}
