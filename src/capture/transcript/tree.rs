//! The tree of a conversation, and which of its branches were abandoned.
//!
//! Lines point to their parents. Rewinding hangs a new prompt on an earlier line, and what hung
//! there before is no longer part of the conversation. Two things look alike and are not: the
//! results of parallel tool calls are side branches too, and two terminals that hold one
//! conversation write two living branches into one file. So a branch counts as abandoned only if
//! it begins with a prompt, another prompt hangs on the same place, and the other one came after
//! the branch's last line. A line whose parent is not in the part that was read begins a tree of
//! its own: a broken line must not cost what follows it.
//!
//! Only a hash of each name and two numbers are kept for a line, 20 to 30 bytes, so the tree of a
//! file of 300 MB fits into some ten megabytes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Number of a line in the tree.
pub type Node = u32;

/// What a line is to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Typed by the user.
    Prompt,
    /// Any other part of the exchange: a reply, a tool result.
    Exchange,
    /// Remarks of the program in between: hooks, progress, durations.
    Remark,
}

struct Line {
    parent: Option<Node>,
    role: Role,
    /// Named by a child, not seen itself (yet).
    missing: bool,
}

/// The lines read so far.
#[derive(Default)]
pub struct Tree {
    names: HashMap<u64, Node>,
    lines: Vec<Line>,
}

impl Tree {
    /// Adds a line and returns its number; `None` when a line of that name was there already.
    pub fn add(&mut self, name: Option<&str>, parent: Option<&str>, role: Role) -> Option<Node> {
        let parent = parent.filter(|parent| Some(*parent) != name).map(|parent| self.named(parent));
        let Some(name) = name else { return Some(self.push(parent, role, false)) };
        match self.names.entry(hash(name)) {
            Entry::Occupied(found) => {
                let node = *found.get();
                let line = &mut self.lines[node as usize];
                if !line.missing {
                    return None;
                }
                // A parent that comes later in the file than its child would allow a cycle.
                let parent = parent.filter(|parent| *parent < node);
                *line = Line { parent, role, missing: false };
                Some(node)
            }
            Entry::Vacant(free) => {
                let node = self.lines.len() as Node;
                free.insert(node);
                Some(self.push(parent, role, false))
            }
        }
    }

    fn named(&mut self, name: &str) -> Node {
        let next = self.lines.len() as Node;
        match self.names.entry(hash(name)) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(free) => {
                free.insert(next);
                self.push(None, Role::Exchange, true)
            }
        }
    }

    fn push(&mut self, parent: Option<Node>, role: Role, missing: bool) -> Node {
        self.lines.push(Line { parent, role, missing });
        (self.lines.len() - 1) as Node
    }

    /// For each line, whether it belongs to an abandoned branch. Parents have lower numbers than
    /// their children, so one pass in each direction is enough.
    pub fn abandoned(&self) -> Vec<bool> {
        let last = self.last_lines();
        let mut prompts: HashMap<Node, Vec<Node>> = HashMap::new();
        for (node, line) in self.lines.iter().enumerate() {
            if line.role == Role::Prompt
                && !line.missing
                && let Some(place) = self.place(node as Node)
            {
                prompts.entry(place).or_default().push(node as Node);
            }
        }
        let mut abandoned = vec![false; self.lines.len()];
        for siblings in prompts.values() {
            for pair in siblings.windows(2) {
                abandoned[pair[0] as usize] = last[pair[0] as usize] < pair[1];
            }
        }
        for node in 0..self.lines.len() {
            let inherited = self.lines[node].parent.is_some_and(|p| abandoned[p as usize]);
            abandoned[node] |= inherited;
        }
        abandoned
    }

    /// The last line of the exchange below each line, itself included.
    fn last_lines(&self) -> Vec<Node> {
        let mut last: Vec<Node> = (0..self.lines.len() as Node).collect();
        for node in (0..self.lines.len()).rev() {
            if let Some(parent) = self.lines[node].parent
                && self.lines[last[node] as usize].role != Role::Remark
            {
                last[parent as usize] = last[parent as usize].max(last[node]);
            }
        }
        last
    }

    /// The line of the exchange that a prompt hangs on, remarks passed over.
    fn place(&self, prompt: Node) -> Option<Node> {
        let mut place = self.lines[prompt as usize].parent?;
        while self.lines[place as usize].role == Role::Remark {
            place = self.lines[place as usize].parent?;
        }
        Some(place)
    }
}

fn hash(name: &str) -> u64 {
    let digest = blake3::hash(name.as_bytes());
    let mut bytes = [0u8; 8];
    bytes.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::Role::{Exchange, Prompt, Remark};
    use super::*;
    use proptest::prelude::*;

    /// Names of the lines that are left out.
    fn left_out(lines: &[(&'static str, &str, Role)]) -> Vec<&'static str> {
        let mut tree = Tree::default();
        let nodes: Vec<_> = lines
            .iter()
            .map(|(name, parent, role)| {
                tree.add(Some(name), Some(*parent).filter(|p| !p.is_empty()), *role).unwrap()
            })
            .collect();
        let abandoned = tree.abandoned();
        let named = lines.iter().zip(nodes);
        named.filter(|(_, node)| abandoned[*node as usize]).map(|(line, _)| line.0).collect()
    }

    #[test]
    fn a_rewound_branch_is_left_out() {
        let lines = [
            ("a", "", Prompt),
            ("b", "a", Exchange),
            ("r", "b", Remark),
            ("old", "r", Prompt),
            ("older", "old", Exchange),
            ("new", "b", Prompt),
            ("c", "new", Exchange),
        ];
        assert_eq!(left_out(&lines), ["old", "older"]);
    }

    #[test]
    fn two_living_branches_both_stay() {
        let lines = [
            ("a", "", Prompt),
            ("b", "a", Exchange),
            ("x", "b", Prompt),
            ("y", "b", Prompt),
            ("x2", "x", Exchange),
            ("y2", "y", Exchange),
        ];
        assert_eq!(left_out(&lines), [""; 0]);
    }

    #[test]
    fn parallel_tool_results_are_no_rewinding() {
        let lines = [
            ("a", "", Prompt),
            ("t1", "a", Exchange),
            ("t2", "t1", Exchange),
            ("r1", "t1", Exchange),
            ("r2", "t2", Exchange),
            ("b", "r1", Prompt),
        ];
        assert_eq!(left_out(&lines), [""; 0]);
    }

    #[test]
    fn separate_roots_and_unknown_parents_stay() {
        let lines =
            [("a", "", Prompt), ("b", "", Prompt), ("c", "gone", Prompt), ("d", "c", Exchange)];
        assert_eq!(left_out(&lines), [""; 0]);
    }

    #[test]
    fn rewinding_across_the_border_of_two_reads_is_seen() {
        let lines = [("x", "before", Prompt), ("x2", "x", Exchange), ("y", "before", Prompt)];
        assert_eq!(left_out(&lines), ["x", "x2"]);
    }

    #[test]
    fn a_name_counts_once() {
        let mut tree = Tree::default();
        assert!(tree.add(Some("a"), None, Prompt).is_some());
        assert!(tree.add(Some("a"), None, Prompt).is_none());
    }

    proptest! {
        #[test]
        fn any_tree_is_survived(lines in prop::collection::vec((0u8..9, 0u8..9, 0u8..3), 0..40)) {
            let mut tree = Tree::default();
            for (name, parent, role) in lines {
                let role = [Prompt, Exchange, Remark][role as usize];
                tree.add(Some(&name.to_string()), Some(&parent.to_string()), role);
            }
            prop_assert_eq!(tree.abandoned().len(), tree.lines.len());
        }
    }
}
