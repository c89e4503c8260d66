//! The data that planner, orchestrator and roles of a run exchange: jobs, records, orders and messages. Also the
//! contents that jobs name.
//!
//! `job`, `record` and `role_protocol` are written by `scripts/generate_wire.py` from the models in
//! `src/netwarp/wire/`. Nothing here reads a clock, opens a socket or knows how a run is carried out.

pub mod arrived;
pub mod content;
mod facts;
#[cfg(feature = "golden")]
pub mod golden;
pub mod job;
pub mod problems;
pub mod record;
pub mod request_prefix;
pub mod role_protocol;
pub mod seeded;

pub use facts::MOST_REPAIRS;
