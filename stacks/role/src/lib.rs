//! The common part of roles written in Rust (`docs/role-protocol.md`): orders and messages, the job, the content, and
//! the records. A stack's own program adds its transport.

mod chunk;
mod content;
mod environment;
mod identity;
mod job;
mod orchestrator;
mod record;

pub use self::chunk::{Chunk, REQUEST_BYTES, Request};
pub use self::content::Reader;
pub use self::environment::{Arguments, grow_heap_by_large_steps, now_ns, without_cpu_randomness};
pub use self::identity::{Identity, SERVER_NAME, to_pem};
pub use self::job::{Bulk, Content, Direction, Job, Resume};
pub use self::orchestrator::{Begin, Orchestrator, Order, Side};
pub use self::record::{ConnectionRecord, Settings, Stats, TransferRecord};
