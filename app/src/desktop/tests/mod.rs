//! The whole window without a screen, fed what workers would tell.

pub mod stage;

mod beside;
mod bodyless;
mod budget;
mod callers;
mod completions;
mod contrast;
mod costs;
mod domains;
mod elsewhere;
mod gestures;
mod keys;
mod left_out;
mod order;
mod panel;
mod reach;
mod room;
mod settings;
mod several;
mod snapshots;
mod snapshots_several;
mod steady;
mod times;
mod together;
mod told;
mod tree;
