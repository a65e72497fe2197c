//! The consolidate phase: a cluster of three or more connected entries becomes proven knowledge.

pub mod facts;
pub mod json;
pub mod note;
pub mod prompt;
pub mod reply;
pub mod schema;
pub mod sentences;
pub mod values;
pub mod words;

pub use note::Cluster;
