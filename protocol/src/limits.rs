//! Every limit of the pipe, with its reason. Both sides refuse what passes one; nobody allocates what a peer
//! merely claims.

/// Largest frame body, bytes. A catalogue page of 4,096 methods with long generic names is about 0.6 MiB.
pub const MAX_FRAME: usize = 4 << 20;

/// Methods on one catalogue page: small enough that the first page is on screen at once.
pub const METHODS_PER_PAGE: usize = 4096;

/// Status rows on one page (each with names and instances, about 300 bytes).
pub const ROWS_PER_PAGE: usize = 1024;

/// Lines on one page of IL.
pub const IL_LINES_PER_PAGE: usize = 4096;

/// Largest body that is shown as IL, bytes of code. The largest that compilers write have some hundred thousand.
pub const MAX_IL_CODE: usize = 1 << 20;

/// Branch targets of one line: a `switch` has four bytes of code for each.
pub const MAX_IL_TARGETS: usize = MAX_IL_CODE / 4;

/// Local variables named of one body; more are only counted.
pub const MAX_IL_LOCALS: usize = 1024;

/// Clauses told of one body; more are only counted.
pub const MAX_IL_CLAUSES: usize = 4096;

/// Longest operand or type told in words, bytes; what is longer is cut.
pub const MAX_IL_WORDS: usize = 512;

/// Orders in one `RequestReJit`: as many as may stand, so that whatever stands can be saved and applied as one change,
/// and a selection of single methods is planned, turned and taken back as a whole.
pub const MAX_ORDERS: usize = MAX_STANDING_ORDERS;

/// Length of a pattern in bytes. The longest signature in CoreLib is under 1,000.
pub const MAX_PATTERN: usize = 4096;

/// Dots in a pattern outside brackets: each makes one way to part type and method, with copies of both halves. Real
/// names, explicit implementations included, have under twenty.
pub const MAX_PATTERN_DOTS: usize = 64;

/// Refusals listed by name in one reply; the rest are only counted, per reason.
pub const MAX_REFUSALS: usize = 256;

/// Suggestions in a "nothing matched" reply.
pub const MAX_SUGGESTIONS: usize = 5;

/// Bytes an agent queues for one session before it drops (and counts) updates.
pub const MAX_OUTBOX: usize = 4 << 20;

/// Turns of one session that wait for the runtime; more are refused until one is answered.
pub const MAX_TURNS: usize = 256;

/// Sessions one agent serves at once; more wait a moment for a place.
pub const MAX_SESSIONS: usize = 16;

/// Malformed frames from one session before it is closed.
pub const MAX_BAD_FRAMES: u32 = 3;

/// Longest program, user or version string in a frozen message, bytes.
pub const MAX_WORD: usize = 256;

/// Milliseconds within which a frame that has begun must end.
pub const FRAME_DEADLINE_MS: u64 = 10_000;

/// Milliseconds of silence after which a session that holds dials is taken for dead.
pub const SESSION_SILENCE_MS: u64 = 15_000;

/// Milliseconds between two pings of such a session: so often that a pause of ten seconds (a laptop's lid, a debugger)
/// ends nothing, wherever between two pings it falls.
pub const SESSION_PING_MS: u64 = 3_000;

/// Entries kept in the audit ring.
pub const AUDIT_ENTRIES: usize = 256;

/// Orders that stand in one agent at once: a few dial sets' worth.
pub const MAX_STANDING_ORDERS: usize = 4096;

/// AppDomains in one reply, and domains of one module. A full IIS pool has some hundreds.
pub const MAX_DOMAINS: usize = 4096;

/// Modules in one reply. At about 150 bytes each a frame holds 28,000; the largest programs load some thousands.
pub const MAX_MODULES: usize = 32 << 10;

/// Rows in one counter delta: at their longest (5 and 9 bytes) they just fit a frame. A larger fold is sent in parts.
pub const MAX_COUNTER_ROWS: usize = 256 << 10;

/// Rows on one page of times, at most some 90 bytes each.
pub const TIMES_PER_PAGE: usize = 16 << 10;

/// Buckets of one histogram: 46 octaves of 32, from a tick of the agent's clock to days. At their longest (3 and 9 bytes
/// each) some 18 KiB.
pub const MAX_BUCKETS: usize = 46 * 32;

/// Call sites of a method that are told apart on one thread; calls from more are counted together.
pub const MAX_CALL_SITES: usize = 64;

/// Callers of one row that are named; calls by more are counted together. Few methods have a hundred.
pub const MAX_CALLERS: usize = 1024;

/// Compiled instances listed of one row: one per instantiation over value types, and one per version.
pub const MAX_INSTANCES: usize = 4096;

/// Sentences (warnings, what remains) and budgets in one reply; nobody reads more.
pub const MAX_SENTENCES: usize = 256;

/// Levels whose cost one reply tells.
pub const MAX_COSTS: usize = 8;

/// Orders of one report that match nothing and are named; more are only counted.
pub const MAX_UNMATCHED_NAMED: usize = 128;

/// Shared modules named in one report. Domain-neutral assemblies are the framework's, some two hundred at most.
pub const MAX_SHARED: usize = 256;

/// AppDomains named for one shared module; more are only counted.
pub const MAX_DOMAINS_NAMED: usize = 32;

/// Order lists an agent remembers for `Undo`.
pub const MAX_UNDO: usize = 64;

/// Longest time an order may be kept for, milliseconds: 366 days.
pub const MAX_KEPT_FOR_MS: u64 = 366 * 24 * 3600 * 1000;

/// Longest threshold of calls that are kept, nanoseconds: 366 days.
pub const MAX_THRESHOLD_NS: u64 = MAX_KEPT_FOR_MS * 1_000_000;

/// Calls told of one row: what one looks through by eye.
pub const MAX_KEPT_CALLS: usize = 16;

/// Rows whose calls are told in one reply: with types of [`MAX_WORD`] bytes it is a third of a frame.
pub const CALLS_PER_REPLY: usize = 256;
