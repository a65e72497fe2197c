//! The connect phase: new entries get a vector and are linked to similar ones.
//!
//! *Ask*: the vector of each new entry's text, then its nearest neighbours by cosine. *Decide*
//! ([`links::decide`]): `embed` steps and `link` steps.
//!
//! What "similar" means is more than a cosine ([`mod@similarity`]): the lexical part tells the same
//! fact from the same topic ([`lexical`]), records of a fixed form are compared by their subject
//! alone ([`form`]; the store teaches further forms, [`template`]), and near-identical entries that state different things are linked but marked
//! ([`mod@differing`]). Learned forms aside, all of it is a function of the two texts and their
//! cosine, whatever else is stored, so that the graph does not depend on the order of arrival; once
//! a form is learned, links that rest on it are taken back.

pub mod differing;
pub mod form;
pub mod lexical;
pub mod links;
pub mod sequence;
pub mod similarity;
pub mod template;
pub mod tokens;

pub use differing::{differing, repeats};
pub use links::{Compared, LinkSettings, LinkTable, Newcomer, decide, learn, reconsider};
pub use similarity::{LINK_LINE, Profile, Scale, similarity};
pub use template::Templates;
