//! What a report is asked for.

use timewise_flow::RoutineId;

/// What a report has one row for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// A function.
    Function,
    /// A loop.
    Loop,
    /// A call site and a function called there.
    Call,
    /// A block: code with one way in at its top and one way out at its bottom.
    Block,
    /// A branch that traces saw.
    Branch,
    /// A path through a function.
    Path,
    /// An instruction.
    Instruction,
    /// A source line.
    Line,
    /// A call stack that threads waited with.
    Waiting,
    /// A call stack with which the kernel was called.
    Kernel,
}

impl By {
    /// All there are.
    pub const ALL: [By; 10] = [
        By::Function,
        By::Loop,
        By::Call,
        By::Block,
        By::Branch,
        By::Path,
        By::Instruction,
        By::Line,
        By::Waiting,
        By::Kernel,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Function => "function",
            By::Loop => "loop",
            By::Call => "call",
            By::Block => "block",
            By::Branch => "branch",
            By::Path => "path",
            By::Instruction => "instruction",
            By::Line => "line",
            By::Waiting => "waiting",
            By::Kernel => "kernel",
        }
    }
}

/// By which cost functions and loops are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// What they cost by themselves.
    #[default]
    Own,
    /// What they cost with callees.
    Total,
}

/// Which calls a report holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Calls {
    /// All.
    #[default]
    All,
    /// Those of this function.
    Of(RoutineId),
    /// Those that this function makes.
    From(RoutineId),
}

/// What to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What has a row.
    pub by: By,
    /// The order of functions and loops; all others have one cost only.
    pub sort: Sort,
    /// The choice of calls.
    pub calls: Calls,
}

impl From<By> for Request {
    fn from(by: By) -> Request {
        Request { by, sort: Sort::default(), calls: Calls::default() }
    }
}
