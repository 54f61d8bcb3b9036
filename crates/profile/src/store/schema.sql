CREATE TABLE format (
    version INTEGER NOT NULL,                   -- of this layout, equal to PRAGMA user_version
    written_by TEXT NOT NULL                    -- program and its version
) STRICT;

CREATE TABLE row_counts (                       -- rows of every table below, to notice damage
    table_name TEXT NOT NULL PRIMARY KEY,
    number_of_rows INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    run_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,                         -- 'sampling', 'counting', 'branches' or 'simulation'
    working_directory ANY NOT NULL,
    started_unix_ns INTEGER NOT NULL,           -- since 1970-01-01 00:00 UTC
    elapsed_ns INTEGER NOT NULL,
    user_ns INTEGER NOT NULL,                   -- CPU time, all threads and waited-for children
    kernel_ns INTEGER NOT NULL,
    exit_code INTEGER,                          -- NULL unless the program exited
    exit_signal INTEGER,                        -- NULL unless a signal ended it
    randomised_addresses INTEGER NOT NULL,      -- 0 or 1
    stdout_hash INTEGER,                        -- NULL if standard output was not captured
    machine_processor TEXT NOT NULL,
    machine_kernel TEXT NOT NULL,
    machine_cpus INTEGER NOT NULL,
    lost_samples INTEGER NOT NULL,
    lost_calls INTEGER,                         -- NULL: costs of calls were not asked for
    counts_complete INTEGER NOT NULL            -- 0 or 1: nothing executed is missing, and counts balance
) STRICT;

CREATE TABLE run_arguments (                    -- the command line, program first
    run_id INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,
    argument ANY NOT NULL
) STRICT;

CREATE TABLE run_environment (
    run_id INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,
    name ANY NOT NULL,
    value ANY NOT NULL
) STRICT;

CREATE TABLE run_warnings (                     -- what a reader must know to trust the numbers
    run_id INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,
    warning TEXT NOT NULL
) STRICT;

CREATE TABLE clocks (                           -- the clock of the samples, one row a sampling run
    run_id INTEGER PRIMARY KEY REFERENCES runs,
    event TEXT NOT NULL,                        -- such as 'cycles:upp' or 'cpu-clock:u'
    counts_cycles INTEGER NOT NULL,             -- 1: weights are cycles; 0: cycles are estimated
    precise_level INTEGER NOT NULL,             -- precise_ip that the kernel granted
    frequency_hz INTEGER NOT NULL,              -- requested samples a second of CPU time and thread
    scope TEXT,                                 -- 'processors', 'threads' or 'looks'; NULL if unknown
    core_frequency_hz REAL,                     -- of the core during the run
    core_frequency_low_hz REAL,
    core_frequency_high_hz REAL
) STRICT;

CREATE TABLE call_stacks (                      -- how callers were found, one row a sampling run with stacks
    run_id INTEGER PRIMARY KEY REFERENCES runs,
    method TEXT NOT NULL,                       -- 'frame pointers', 'unwind tables' or 'both'
    taken INTEGER NOT NULL,                     -- samples whose callers were looked for
    cut_short INTEGER NOT NULL,                 -- of those, the outermost were not in the copied stack
    broken INTEGER NOT NULL                     -- of those, code that does not tell its caller ended the stack
) STRICT;

CREATE TABLE processes (
    process_id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs,
    system_pid INTEGER NOT NULL,
    parent_process_id INTEGER REFERENCES processes,
    executable_path ANY NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER,
    count_uncertainty_executions INTEGER NOT NULL -- any block's count may be off by this many
) STRICT;

CREATE TABLE threads (
    thread_id INTEGER PRIMARY KEY,
    process_id INTEGER NOT NULL REFERENCES processes,
    system_tid INTEGER NOT NULL,
    name TEXT NOT NULL,
    instructions INTEGER                        -- executed; NULL in sampling runs
) STRICT;

CREATE TABLE modules (
    module_id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,                         -- 'file', 'vdso', 'jit', 'kernel' or 'unknown'
    path ANY NOT NULL,
    build_id BLOB NOT NULL                      -- empty if there is none
) STRICT;

CREATE TABLE source_files (
    file_id INTEGER PRIMARY KEY,
    path TEXT NOT NULL
) STRICT;

CREATE TABLE functions (
    function_id INTEGER PRIMARY KEY,
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,                    -- of the first instruction
    size_bytes INTEGER NOT NULL,
    name TEXT NOT NULL,                         -- demangled
    symbol TEXT NOT NULL,                       -- as in the symbol table; empty if there is none
    file_id INTEGER REFERENCES source_files,    -- where it is declared; NULL if unknown
    line INTEGER NOT NULL                       -- 0 if unknown
) STRICT;

CREATE TABLE lines (                            -- in order of place; a row holds up to the next one
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    file_id INTEGER REFERENCES source_files,    -- NULL: nothing is known from here on
    line INTEGER NOT NULL                       -- 0 if unknown
) STRICT;

CREATE TABLE inlined_calls (                    -- in order of place and depth
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,                    -- an instruction that was sampled, or a call
    depth INTEGER NOT NULL,                     -- 0 for the innermost
    function TEXT NOT NULL,                     -- demangled
    call_file_id INTEGER REFERENCES source_files,   -- where it was called; NULL if unknown
    call_line INTEGER NOT NULL                  -- 0 if unknown
) STRICT;

CREATE TABLE stack_nodes (                      -- callers of samples and waits, as a tree
    stack_id INTEGER PRIMARY KEY,
    parent_stack_id INTEGER REFERENCES stack_nodes, -- the caller's caller; NULL if outermost
    return_module_id INTEGER NOT NULL REFERENCES modules,
    return_code_version INTEGER NOT NULL,
    return_offset INTEGER NOT NULL              -- the call is the instruction before it
) STRICT;

CREATE TABLE samples (                          -- in order of time within each run
    thread_id INTEGER NOT NULL REFERENCES threads,
    time_ns INTEGER NOT NULL,                   -- from the start of the run
    weight_ns INTEGER NOT NULL,                 -- CPU time since the thread's previous sample; 0 with cycles
    weight_cycles INTEGER,                      -- cycles since then; NULL if the clock counts none
    module_id INTEGER REFERENCES modules,       -- NULL, like the next two, outside known code
    code_version INTEGER,
    offset INTEGER,                             -- of the instruction that would have run next
    kernel INTEGER NOT NULL,                    -- 1 if the kernel was executing
    stack_id INTEGER REFERENCES stack_nodes     -- the innermost caller; NULL if not taken
) STRICT;

CREATE TABLE waits (
    thread_id INTEGER NOT NULL REFERENCES threads,
    module_id INTEGER REFERENCES modules,       -- NULL, like the next two, outside known code
    code_version INTEGER,
    offset INTEGER,                             -- of the instruction that would have run next
    stack_id INTEGER REFERENCES stack_nodes,    -- the innermost caller; NULL if not taken
    times INTEGER,                              -- NULL: not counted, and the duration is an estimate
    duration_ns INTEGER NOT NULL                -- of all of them together
) STRICT;

CREATE TABLE os_names (                         -- of system calls, signals, and what they were about
    name_id INTEGER PRIMARY KEY,
    name ANY NOT NULL
) STRICT;

CREATE TABLE os_events (                        -- in order of their beginnings within each thread
    thread_id INTEGER NOT NULL REFERENCES threads,
    kind TEXT NOT NULL,                         -- 'begin', 'exec', 'image', 'call', 'signal' or 'end'
    event_name_id INTEGER REFERENCES os_names,  -- such as openat or SIGCHLD
    object_name_id INTEGER REFERENCES os_names, -- what it was about; NULL if nothing is known
    begin_ns INTEGER NOT NULL,                  -- from the start of the run
    end_ns INTEGER,                             -- likewise; NULL if no end was seen
    cpu_ns INTEGER NOT NULL,                    -- that the thread had used when it began
    result INTEGER,                             -- negative error number, or negative signal of an end
    stack_id INTEGER REFERENCES stack_nodes     -- the innermost caller; NULL if not taken
) STRICT;

CREATE TABLE tallies (                          -- executions that breakpoints counted in sampling runs
    run_id INTEGER NOT NULL REFERENCES runs,
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    executions INTEGER NOT NULL,
    cpu_ns INTEGER NOT NULL,                    -- CPU time in which they were counted
    variance INTEGER NOT NULL                   -- of the executions
) STRICT;

CREATE TABLE blocks (
    block_id INTEGER PRIMARY KEY,
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,                    -- of the first instruction
    instructions INTEGER NOT NULL,
    code BLOB NOT NULL                          -- as executed
) STRICT;

CREATE TABLE block_counts (
    block_id INTEGER NOT NULL REFERENCES blocks,
    process_id INTEGER NOT NULL REFERENCES processes,
    executions INTEGER NOT NULL
) STRICT;

CREATE TABLE edge_kinds (
    edge_kind INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE edge_counts (
    from_block_id INTEGER REFERENCES blocks,    -- NULL: from outside (a thread's start, a signal)
    to_block_id INTEGER REFERENCES blocks,      -- NULL: control left the known code
    edge_kind INTEGER NOT NULL REFERENCES edge_kinds,
    process_id INTEGER NOT NULL REFERENCES processes,
    traversals INTEGER NOT NULL
) STRICT;

CREATE TABLE call_costs (
    site_block_id INTEGER NOT NULL REFERENCES blocks,      -- ends in the call
    callee_block_id INTEGER NOT NULL REFERENCES blocks,
    process_id INTEGER NOT NULL REFERENCES processes,
    instructions INTEGER NOT NULL                          -- from the callee's first to its return
) STRICT;

CREATE TABLE intervals (
    interval_id INTEGER PRIMARY KEY,
    thread_id INTEGER NOT NULL REFERENCES threads,
    first_instruction INTEGER NOT NULL,         -- executed by the thread before
    instructions INTEGER NOT NULL
) STRICT;

CREATE TABLE interval_blocks (                  -- basic block vectors
    interval_id INTEGER NOT NULL REFERENCES intervals,
    block_id INTEGER NOT NULL REFERENCES blocks,
    instructions INTEGER NOT NULL               -- executed in the block
) STRICT;

CREATE TABLE paths (                            -- through functions
    path_id INTEGER PRIMARY KEY,
    entered INTEGER NOT NULL,                   -- 1: begins where control entered the function
    left_function INTEGER NOT NULL,             -- 1: ends where control left it
    executions INTEGER NOT NULL,
    is_bound INTEGER NOT NULL                   -- 1: may have been executed less often
) STRICT;

CREATE TABLE path_blocks (                      -- of each path in order
    path_id INTEGER NOT NULL REFERENCES paths,
    block_id INTEGER NOT NULL REFERENCES blocks
) STRICT;

CREATE TABLE taken_branches (                   -- as traces saw them
    process_id INTEGER NOT NULL REFERENCES processes,
    from_module_id INTEGER NOT NULL REFERENCES modules,
    from_code_version INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,               -- of the branch
    to_module_id INTEGER NOT NULL REFERENCES modules,
    to_code_version INTEGER NOT NULL,
    to_offset INTEGER NOT NULL,                 -- where it led
    next_module_id INTEGER REFERENCES modules,  -- NULL, like the next two, where the trace ended
    next_code_version INTEGER,
    next_offset INTEGER,                        -- of the next branch that was taken
    times_seen INTEGER NOT NULL,
    weight INTEGER NOT NULL                     -- a thousand each time on average; less where code is slow
) STRICT;

CREATE TABLE simulations (                      -- executions on modelled cores
    simulation_id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs,
    core TEXT NOT NULL,
    core_hash INTEGER NOT NULL,                 -- of all numbers that describe the core
    skipped_instructions INTEGER NOT NULL,      -- of each thread, before each window
    window_instructions INTEGER,                -- of each thread; NULL: all the rest
    windows INTEGER,                            -- of each thread; NULL: as many as there were
    instructions INTEGER NOT NULL,              -- simulated, all threads together
    cycles INTEGER NOT NULL,                    -- of all threads' cores together
    executed_instructions INTEGER               -- all threads together, simulated or not; NULL if not known exactly
) STRICT;

CREATE TABLE simulated_threads (                -- each on a core of its own
    simulated_thread_id INTEGER PRIMARY KEY,
    simulation_id INTEGER NOT NULL REFERENCES simulations,
    thread_id INTEGER NOT NULL REFERENCES threads,
    image INTEGER NOT NULL,                     -- numbers the programs that processes executed
    executable_path ANY NOT NULL,               -- of that program
    instructions INTEGER NOT NULL,              -- simulated
    cycles INTEGER NOT NULL
) STRICT;

CREATE TABLE simulated_windows (                -- of each thread in order
    simulated_thread_id INTEGER NOT NULL REFERENCES simulated_threads,
    first_instruction INTEGER NOT NULL,         -- executed by the thread before
    instructions INTEGER NOT NULL,              -- of the window
    cycles INTEGER NOT NULL                     -- from commit to commit of last instructions
) STRICT;

CREATE TABLE simulated_instructions (
    simulation_id INTEGER NOT NULL REFERENCES simulations,
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    executions INTEGER NOT NULL                 -- in what was simulated
) STRICT;

CREATE TABLE cycle_stacks (                     -- components of instructions' stacks
    simulation_id INTEGER NOT NULL REFERENCES simulations,
    module_id INTEGER NOT NULL REFERENCES modules,
    code_version INTEGER NOT NULL,
    offset INTEGER NOT NULL,                    -- of the instruction that is to blame
    state TEXT NOT NULL,                        -- of the commit stage
    events TEXT NOT NULL,                       -- joined by +; empty for none
    cycle_parts INTEGER NOT NULL                -- 840 to a cycle
) STRICT;
