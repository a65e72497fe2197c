//! The connect phase: new entries get a vector and are linked to similar ones.
//!
//! *Ask*: the vector of each new entry's text, then its nearest neighbours by cosine. *Decide*
//! ([`links::decide`]): `embed` steps and `link` steps.
//!
//! What "similar" means is more than a cosine ([`mod@similarity`]): the lexical part tells the same
//! fact from the same topic ([`lexical`]), records of a fixed form are compared by their subject
//! alone ([`form`]), and near-identical entries that state different things are linked but marked
//! ([`mod@differing`]). All of it is a function of the two texts and their cosine, whatever else is
//! stored, so that the graph does not depend on the order of arrival.

pub mod differing;
pub mod form;
pub mod lexical;
pub mod links;
pub mod similarity;
pub mod tokens;

pub use differing::{differing, repeats};
pub use links::{Compared, LinkSettings, LinkTable, Newcomer, decide, link};
pub use similarity::{LINK_LINE, Profile, Scale, similarity};
