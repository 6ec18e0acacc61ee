//! Limits of the protocol, each with its reason.
//!
//! Both sides refuse input beyond a limit, and neither allocates memory merely because a peer claims a size.

/// Maximum frame body, bytes. A catalogue page of 4,096 methods with long generic names is about 0.6 MiB.
pub const MAX_FRAME: usize = 4 << 20;

/// Methods per catalogue page: small enough that the first page appears at once.
pub const METHODS_PER_PAGE: usize = 4096;

/// Status rows per page (each with names and instances, about 300 bytes).
pub const ROWS_PER_PAGE: usize = 1024;

/// Methods in one answer. The largest programs have about a million.
pub const MAX_CATALOGUE_METHODS: usize = 2_000_000;

/// Dialled copies in one answer. An agent keeps at most 400,000.
pub const MAX_STATUS_ROWS: usize = 512 << 10;

/// Bytes of one answer, pages and all. A million methods take about 80 MiB.
pub const MAX_ANSWER: usize = 128 << 20;

/// Memory of a status row in a controller, bytes, without its texts: the row, its times, and its place in a table.
pub const ROW_MEMORY: usize = 640;

/// Lines per page of IL.
pub const IL_LINES_PER_PAGE: usize = 4096;

/// Maximum size of a body shown as IL, bytes of code. The largest that compilers write have several hundred
/// thousand.
pub const MAX_IL_CODE: usize = 1 << 20;

/// Branch targets of one line: each target of a `switch` takes four bytes of code.
pub const MAX_IL_TARGETS: usize = MAX_IL_CODE / 4;

/// Local variables listed for one body; more are only counted.
pub const MAX_IL_LOCALS: usize = 1024;

/// Exception clauses listed for one body; more are only counted.
pub const MAX_IL_CLAUSES: usize = 4096;

/// Maximum length of an operand or type in text form, bytes; longer text is cut.
pub const MAX_IL_WORDS: usize = 512;

/// Orders in one `RequestReJit`. Equal to the number of standing orders, so that all standing orders can be
/// saved and applied as one change, and a selection of methods is planned, turned and undone as a whole.
pub const MAX_ORDERS: usize = MAX_STANDING_ORDERS;

/// Maximum length of a pattern, bytes. The longest signature in CoreLib is under 1,000.
pub const MAX_PATTERN: usize = 4096;

/// Dots in a pattern outside brackets. Each is one way to split type and method and copies both halves. Real
/// names, including explicit implementations, have fewer than twenty.
pub const MAX_PATTERN_DOTS: usize = 64;

/// Refusals listed by name in one reply; the rest are only counted by reason.
pub const MAX_REFUSALS: usize = 256;

/// Suggestions in a "nothing matched" reply.
pub const MAX_SUGGESTIONS: usize = 5;

/// Bytes that an agent queues for one session before it drops (and counts) updates.
pub const MAX_OUTBOX: usize = 4 << 20;

/// Changes of one session that await the runtime. The agent refuses more until it has answered one.
pub const MAX_PENDING_CHANGES: usize = 256;

/// Sessions that one agent serves at once; further ones wait briefly for a free place.
pub const MAX_SESSIONS: usize = 16;

/// Internal errors after which an agent turns all dials off and makes no more changes.
pub const MAX_AGENT_FAULTS: u64 = 3;

/// Malformed frames from one session before the agent closes it.
pub const MAX_BAD_FRAMES: u32 = 3;

/// Maximum length of a program, user or version string in a frozen message, bytes.
pub const MAX_WORD: usize = 256;

/// Milliseconds within which a frame must end after it began.
pub const FRAME_DEADLINE_MS: u64 = 10_000;

/// Milliseconds of silence after which a session that holds dials counts as dead.
pub const SESSION_SILENCE_MS: u64 = 15_000;

/// Milliseconds between two pings of such a session. A pause of ten seconds (a laptop's lid, a debugger) does
/// not end the session, wherever it falls between two pings.
pub const SESSION_PING_MS: u64 = 3_000;

/// Entries in the audit ring.
pub const AUDIT_ENTRIES: usize = 256;

/// Standing orders in one agent: a few dial sets.
pub const MAX_STANDING_ORDERS: usize = 4096;

/// AppDomains in one reply, and domains of one module. A full IIS pool has several hundred.
pub const MAX_DOMAINS: usize = 4096;

/// Modules in one reply. At about 150 bytes each, a frame holds 28,000; the largest programs load several
/// thousand.
pub const MAX_MODULES: usize = 32 << 10;

/// Rows in one counter delta. At their maximum size (5 and 9 bytes) they just fit into a frame; larger
/// snapshots are sent in parts.
pub const MAX_COUNTER_ROWS: usize = 256 << 10;

/// Rows per page of times, at most about 90 bytes each.
pub const TIMES_PER_PAGE: usize = 16 << 10;

/// Buckets of one histogram: 46 octaves of 32, from one tick of the agent's clock to days. At their maximum
/// size (3 and 9 bytes each) they take about 18 KiB.
pub const MAX_BUCKETS: usize = 46 * 32;

/// Call sites of a method that one thread distinguishes; calls from others are counted together.
pub const MAX_CALL_SITES: usize = 64;

/// Callers listed for one row; calls by others are counted together. Few methods have a hundred.
pub const MAX_CALLERS: usize = 1024;

/// Compiled instances listed for one row: one per instantiation over value types and per version.
pub const MAX_INSTANCES: usize = 4096;

/// Warnings, remaining effects or resource limits in one reply; nobody reads more.
pub const MAX_NOTES: usize = 256;

/// Levels with a cost in one reply.
pub const MAX_COSTS: usize = 8;

/// Orders without a match that one report names; more are only counted.
pub const MAX_UNMATCHED_NAMED: usize = 128;

/// Shared modules named in one report. Domain-neutral assemblies belong to the framework, at most about two
/// hundred.
pub const MAX_SHARED: usize = 256;

/// AppDomains named for one shared module; more are only counted.
pub const MAX_DOMAINS_NAMED: usize = 32;

/// Lists of orders that an agent remembers for `Undo`.
pub const MAX_UNDO: usize = 64;

/// Maximum lifetime of a `KeptFor` order, milliseconds: 366 days.
pub const MAX_KEPT_FOR_MS: u64 = 366 * 24 * 3600 * 1000;

/// Maximum threshold for slowest calls, nanoseconds: 366 days.
pub const MAX_THRESHOLD_NS: u64 = MAX_KEPT_FOR_MS * 1_000_000;

/// Slowest calls reported for one row: as many as a person reads.
pub const MAX_SLOWEST_CALLS: usize = 16;

/// Rows with slowest calls in one reply. With type names of [`MAX_WORD`] bytes they take a third of a frame.
pub const CALLS_PER_REPLY: usize = 256;

/// Bytes of the stacks in one reply with slowest calls. The stacks of one row fit, so a controller that wants stacks asks
/// for one row at a time; beyond this, calls have none.
pub const STACK_BYTES_PER_REPLY: usize = 2 << 20;

/// Captured parameters of a method, `this` included. Few methods have more than ten.
pub const MAX_TRACED_PARAMETERS: usize = 64;

/// Maximum number of inner exceptions of an exception that ended a traced call.
pub const MAX_INNER_EXCEPTIONS: usize = 3;

/// Maximum number of objects within objects that a dial may have captured.
pub const MAX_CAPTURE_DEPTH: u8 = 3;

/// Stack frames of a call.
pub const MAX_STACK_FRAMES: usize = 32;

/// UTF-16 units of a captured string.
pub const MAX_VALUE_UNITS: usize = 4096;

/// Fields, items or entries of a captured value.
pub const MAX_VALUE_ITEMS: usize = 1024;

/// Values within values, the outermost included.
pub const MAX_VALUE_NESTING: usize = 16;

/// Traced calls in one page. With 1 KiB of values each they fit into a frame.
pub const TRACED_CALLS_PER_PAGE: usize = 1024;

/// Values in the calls of one page, nested ones included. In memory a value takes up to 60 times the bytes it takes in a
/// frame, so the frame's limit alone would not bound a controller's memory.
pub const VALUES_PER_PAGE: usize = 128 << 10;

/// Calls listed in one answer: the latest ones of many methods, at 64 each.
pub const MAX_TRACED_CALLS: usize = 256 << 10;

/// Characters of a condition.
pub const MAX_CONDITION_CHARS: usize = 1024;

/// Operators, names and literals of a condition.
pub const MAX_CONDITION_NODES: usize = 64;

/// Operators within operators of a condition.
pub const MAX_CONDITION_DEPTH: usize = 32;

/// Names in a message about a condition that does not fit a method.
pub const MAX_CONDITION_OFFERS: usize = 64;

/// Thrown exceptions sent in a second, unless the session asks for another number: as many as a person can skim.
pub const EXCEPTIONS_PER_SECOND: u32 = 100;

/// Rows of thrown exceptions, one for each type and throwing method, in one stream. Few programs have a hundred.
pub const MAX_THROWN_ROWS: usize = 1024;

/// Thrown exceptions, and new rows of them, in one page. With 1 KiB of messages and long names they fit into a frame.
pub const EXCEPTIONS_PER_PAGE: usize = 256;
