//! The common part of stacks' programs in Rust (`docs/role-protocol.md`): start, pipes to the orchestrator, and chunks
//! of content.
//!
//! A stack's own program only adds its transport. The messages on the pipes are defined in the crate `netwarp-wire`.

#[cfg(feature = "tokio")]
mod answered;
mod chunk;
mod environment;
#[cfg(feature = "tokio")]
mod event_loop;
mod identity;
pub mod interop;
mod job;
mod orchestrator;
mod run;

pub use netwarp_wire::job::{Bulk, Resume, TransportKind};
pub use netwarp_wire::record::{ConnectionRecord, Record, Settings, Side, Stats, TransferRecord};
pub use netwarp_wire::role_protocol::Order;

#[cfg(feature = "tokio")]
pub use self::answered::{Answered, records};
pub use self::chunk::{BLOCK_BYTES, Chunk, REQUEST_BYTES, Request};
pub use self::environment::{anywhere, grow_heap_by_large_steps, nanoseconds, now_ns, without_cpu_randomness};
#[cfg(feature = "tokio")]
pub use self::event_loop::{Orders, begin, block_on};
pub use self::identity::{Identity, SERVER_NAME, to_pem};
pub use self::job::{IDLE_BEYOND, Job, PROTOCOL};
pub use self::orchestrator::{Begin, Orchestrator};
pub use self::run::run;
