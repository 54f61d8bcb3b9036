//! The situations of paper A, figures A.2 and A.4 and section 2.2, and of paper B, figures B.1 and B.2, as
//! tables of cycles, and what every profiler makes of them when every cycle is sampled.
//!
//! All figures were worked out by hand from what the papers say of the policies. Where the time goes is a
//! table with a row for each profiler and the cycles that it attributes to each instruction; `lost` is what
//! it could attribute to none. Why is a line for each technique and instruction with the components of its
//! cycle stack, named by the events that come together in each.

mod drawn;

use drawn::{sampled, where_time_goes, why_time_passes};
use timewise_attribution::Schedule;

/// Figure A.4a: what commits together shares the cycle; all but the reference and its kin pick one.
#[test]
fn computing() {
    let table = "program  I1 I2 I3 I4 I5 I6
         cycle    reorder buffer | dispatch | fetch
         1        I1* I2*        | I5       | I6
         2        I3* I4*        | I6       | I6
         3        I5* I6*";
    where_time_goes(
        table,
        3,
        "
                  I1   I2   I3   I4   I5   I6   lost
        Oracle    0.5  0.5  0.5  0.5  0.5  0.5     -
        TIP       0.5  0.5  0.5  0.5  0.5  0.5     -
        TIP-ILP     1    -    1    -    1    -     -
        NCI         1    -    1    -    1    -     -
        NCI+ILP   0.5  0.5  0.5  0.5  0.5  0.5     -
        LCI         1    -    1    -    1    -     -
        Dispatch    -    -    -    -    1    1     1
        Software    -    -    -    -    -    2     1
        ",
    );
    why_time_passes(
        table,
        3,
        "
        reference  I1  Base 0.5
        reference  I2  Base 0.5
        reference  I3  Base 0.5
        reference  I4  Base 0.5
        reference  I5  Base 0.5
        reference  I6  Base 0.5
        TEA        I1  Base 0.5
        TEA        I2  Base 0.5
        TEA        I3  Base 0.5
        TEA        I4  Base 0.5
        TEA        I5  Base 0.5
        TEA        I6  Base 0.5
        NCI-TEA    I1  Base 1
        NCI-TEA    I3  Base 1
        NCI-TEA    I5  Base 1
        IBS        I5  Base 1
        IBS        I6  Base 1
        SPE        I5  Base 1
        SPE        I6  Base 1
        RIS        I6  Base 2
        ",
    );
}

/// Figures A.2 and A.4b: a load waits for 40 cycles. The buffer behind it fills up, so one instruction is
/// held up at dispatch, and one at fetch, that have nothing to do with it.
#[test]
fn stalled_load() {
    let table = "program  I1 Load I3 I4 I5 I6 I7 I8 I9 I10 I11 I12
         cycle    reorder buffer     | dispatch | fetch
         1        I1* Load[ST-L1]    | I5       | I7
         2-41     Load[ST-L1] I3     | I10      | I12
         42       Load[ST-L1]* I3*   | I10      | I12
         43       I4* I5*
         44       I6* I7*
         45       I8* I9*
         46       I10* I11*
         47       I12*";
    where_time_goes(
        table,
        42,
        "
                    I1  Load    I3    I5    I7   I10   I12  lost
        Oracle       1  40.5   0.5     -     -     -     -     -
        TIP          1  40.5   0.5     -     -     -     -     -
        TIP-ILP      1    41     -     -     -     -     -     -
        NCI          1    41     -     -     -     -     -     -
        NCI+ILP      1  20.5  20.5     -     -     -     -     -
        LCI         41     1     -     -     -     -     -     -
        Dispatch     -     -     -     1     -    41     -     -
        Software     -     -     -     -     1     -    41     -
        ",
    );
    why_time_passes(
        table,
        42,
        "
        reference  I1    Base 1
        reference  Load  ST-L1 40.5
        reference  I3    Base 0.5
        TEA        I1    Base 1
        TEA        Load  ST-L1 40.5
        TEA        I3    Base 0.5
        NCI-TEA    I1    Base 1
        NCI-TEA    Load  ST-L1 41
        IBS        I5    Base 1
        IBS        I10   Base 41
        SPE        I5    Base 1
        SPE        I10   Base 41
        RIS        I7    Base 1
        RIS        I12   Base 41
        ",
    );
}

/// Figure A.4c: the branch was found mispredicted before it commits, and nothing is there to execute until
/// the right path arrives. NCI blames what comes from there.
#[test]
fn mispredicted_branch() {
    let table = "program  I1 Branch I5 I6 I7
         cycle    reorder buffer                   | dispatch | fetch
         1        I1* Branch[FL-MB]!mispredicted*  | I5       | I5
         2-3      -                                | I5       | I5
         4-5      -                                | I5       | I7
         6        I5 I6                            | I7       | I7
         7        I5* I6*
         8        I7*";
    where_time_goes(
        table,
        6,
        "
                  I1   Branch   I5   I6   I7   lost
        Oracle    0.5     4.5    1    -    -      -
        TIP       0.5     4.5    1    -    -      -
        TIP-ILP     1       4    1    -    -      -
        NCI         1       -    5    -    -      -
        NCI+ILP   0.5     0.5  2.5  2.5    -      -
        LCI         1       5    -    -    -      -
        Dispatch    -       -    5    -    1      -
        Software    -       -    3    -    3      -
        ",
    );
    why_time_passes(
        table,
        6,
        "
        reference  I1      Base 0.5
        reference  Branch  FL-MB 4.5
        reference  I5      Base 1
        TEA        I1      Base 0.5
        TEA        Branch  FL-MB 4.5
        TEA        I5      Base 1
        NCI-TEA    I1      Base 1
        NCI-TEA    I5      Base 5
        IBS        I5      Base 5
        IBS        I7      Base 1
        SPE        I5      Base 5
        SPE        I7      Base 1
        RIS        I5      Base 3
        RIS        I7      Base 3
        ",
    );
}

/// Figure A.4d: fetching I3 missed the instruction cache, and all that was fetched before it is executed.
#[test]
fn instruction_cache_miss() {
    let table = "program  I1 I2 I3 I4 I5
         cycle    reorder buffer     | dispatch | fetch
         1        I1* I2*            | I3       | I3
         2-41     -                  | I3       | I3
         42       I3[DR-L1] I4       | I5       | I5
         43       I3[DR-L1]* I4*
         44       I5*";
    where_time_goes(
        table,
        42,
        "
                  I1   I2    I3    I4   I5   lost
        Oracle    0.5  0.5    41     -    -     -
        TIP       0.5  0.5    41     -    -     -
        TIP-ILP     1    -    41     -    -     -
        NCI         1    -    41     -    -     -
        NCI+ILP   0.5  0.5  20.5  20.5    -     -
        LCI         1   41     -     -    -     -
        Dispatch    -    -    41     -    1     -
        Software    -    -    41     -    1     -
        ",
    );
    why_time_passes(
        table,
        42,
        "
        reference  I1  Base 0.5
        reference  I2  Base 0.5
        reference  I3  DR-L1 41
        TEA        I1  Base 0.5
        TEA        I2  Base 0.5
        TEA        I3  DR-L1 41
        NCI-TEA    I1  Base 1
        NCI-TEA    I3  DR-L1 41
        IBS        I3  DR-L1 41
        IBS        I5  Base 1
        SPE        I3  Base 41
        SPE        I5  Base 1
        RIS        I3  DR-L1 41
        RIS        I5  Base 1
        ",
    );
}

/// Section 2.2, serialised instructions: the fence is dispatched when all before it has committed, and
/// nothing is dispatched behind it until it has.
#[test]
fn serialising_instruction() {
    let table = "program  I0 I1 I2 Fence I4 I5 I6
         cycle    reorder buffer | dispatch | fetch
         0        I0*            | I1       | I4
         1-3      I1 I2          | Fence    | I4
         4        I1* I2*        | Fence    | I4
         5-14     Fence          | I4       | I6
         15       Fence*         | I4       | I6
         16-17    I4 I5          | I6       | I6
         18       I4* I5*
         19       I6*";
    where_time_goes(
        table,
        17,
        "
                  I0   I1   I2   Fence   I4   I5   I6   lost
        Oracle     1  3.5  0.5      11    2    -    -      -
        TIP        1  3.5  0.5      11    2    -    -      -
        TIP-ILP    1    4    -      11    2    -    -      -
        NCI        1    4    -      11    2    -    -      -
        NCI+ILP    1    2    2      11    1    1    -      -
        LCI        4    1   10       3    -    -    -      -
        Dispatch   -    1    -       4   11    -    2      -
        Software   -    -    -       -    5    -   13      -
        ",
    );
    why_time_passes(
        table,
        17,
        "
        reference  I0     Base 1
        reference  I1     Base 3.5
        reference  I2     Base 0.5
        reference  Fence  Base 11
        reference  I4     Base 2
        TEA        I0     Base 1
        TEA        I1     Base 3.5
        TEA        I2     Base 0.5
        TEA        Fence  Base 11
        TEA        I4     Base 2
        NCI-TEA    I0     Base 1
        NCI-TEA    I1     Base 4
        NCI-TEA    Fence  Base 11
        NCI-TEA    I4     Base 2
        IBS        I1     Base 1
        IBS        Fence  Base 4
        IBS        I4     Base 11
        IBS        I6     Base 2
        SPE        I1     Base 1
        SPE        Fence  Base 4
        SPE        I4     Base 11
        SPE        I6     Base 2
        RIS        I4     Base 5
        RIS        I6     Base 13
        ",
    );
}

/// Section 6, the case of Imagick: an instruction that writes a status register flushes the pipeline as
/// it commits. NCI blames what comes behind it.
#[test]
fn flush_at_commit() {
    let table = "program  I1 Status I3 I4
         cycle    reorder buffer     | dispatch | fetch
         1        I1* Status!flush*  | I3       | I3
         2-9      -                  | I3       | I3
         10       I3 I4
         11       I3* I4*";
    where_time_goes(
        table,
        11,
        "
                  I1   Status    I3   I4   lost
        Oracle    0.5     8.5   1.5  0.5      -
        TIP       0.5     8.5   1.5  0.5      -
        TIP-ILP     1       8     2    -      -
        NCI         1       -    10    -      -
        NCI+ILP   0.5     0.5     5    5      -
        LCI         1       9     1    -      -
        Dispatch    -       -     9    -      2
        Software    -       -     9    -      2
        ",
    );
    why_time_passes(
        table,
        11,
        "
        reference  I1      Base 0.5
        reference  Status  Base 8.5
        reference  I3      Base 1.5
        reference  I4      Base 0.5
        TEA        I1      Base 0.5
        TEA        Status  Base 8.5
        TEA        I3      Base 1.5
        TEA        I4      Base 0.5
        NCI-TEA    I1      Base 1
        NCI-TEA    I3      Base 10
        IBS        I3      Base 9
        SPE        I3      Base 9
        RIS        I3      Base 9
        ",
    );
}

/// Section 2.2, page miss: the load finds out that its page is missing and raises its exception at the
/// head; two instructions of the handler run; the load is executed again and waits for its data.
#[test]
fn page_fault() {
    let table = "program  I1 H1 H2 Load I3 I4
         cycle    reorder buffer                       | dispatch | fetch
         1        I1* Load                             | I4       | I4
         2-21     Load[ST-TLB] I3                      | I4       | I4
         22       Load[ST-TLB+FL-EX]!exception I3      | I4       | I4
         23-25    -                                    | H1       | H1
         26-27    -                                    | H1       | Load
         28       H1* H2*                              | Load     | Load
         29-58    Load[ST-TLB] I3                      | I4       | I4
         59       Load[ST-TLB+ST-LLC]* I3*             | I4       | I4
         60       I4*";
    where_time_goes(
        table,
        59,
        "
                    I1    H1    H2  Load    I3    I4  lost
        Oracle       1   0.5   0.5  56.5   0.5     -     -
        TIP          1   0.5   0.5  56.5   0.5     -     -
        TIP-ILP      1     1     -    57     -     -     -
        NCI          1    27     -    31     -     -     -
        NCI+ILP      1  13.5  13.5  15.5  15.5     -     -
        LCI         27     1    30     1     -     -     -
        Dispatch     -     5     -     1     -    53     -
        Software     -     3     -     3     -    53     -
        ",
    );
    why_time_passes(
        table,
        59,
        "
        reference  I1    Base 1
        reference  H1    Base 0.5
        reference  H2    Base 0.5
        reference  Load  ST-TLB+ST-LLC 30.5, FL-EX+ST-TLB 26
        reference  I3    Base 0.5
        TEA        I1    Base 1
        TEA        H1    Base 0.5
        TEA        H2    Base 0.5
        TEA        Load  ST-TLB+ST-LLC 30.5, FL-EX+ST-TLB 26
        TEA        I3    Base 0.5
        NCI-TEA    I1    Base 1
        NCI-TEA    H1    Base 27
        NCI-TEA    Load  ST-TLB+ST-LLC 31
        IBS        H1    Base 5
        IBS        Load  ST-TLB+ST-LLC 1
        IBS        I4    Base 53
        SPE        H1    Base 5
        SPE        Load  ST-TLB+ST-LLC 1
        SPE        I4    Base 53
        RIS        H1    Base 3
        RIS        Load  ST-TLB+ST-LLC 3
        RIS        I4    Base 53
        ",
    );
}

/// The store queue is full, so a store waits at dispatch until the reorder buffer is empty: drained.
#[test]
fn store_queue_full() {
    let table = "program  I1 I2 Store I4 I5
         cycle    reorder buffer      | dispatch | fetch
         1        I1* I2*             | Store    | I5
         2-21     -                   | Store    | I5
         22       Store[DR-SQ] I4     | I5       | I5
         23       Store[DR-SQ]* I4*   | I5       | I5
         24       I5*";
    where_time_goes(
        table,
        23,
        "
                  I1   I2   Store    I4   I5   lost
        Oracle    0.5  0.5   21.5   0.5    -      -
        TIP       0.5  0.5   21.5   0.5    -      -
        TIP-ILP     1    -     22     -    -      -
        NCI         1    -     22     -    -      -
        NCI+ILP   0.5  0.5     11    11    -      -
        LCI         1   21      1     -    -      -
        Dispatch    -    -     21     -    2      -
        Software    -    -      -     -   23      -
        ",
    );
    why_time_passes(
        table,
        23,
        "
        reference  I1     Base 0.5
        reference  I2     Base 0.5
        reference  Store  DR-SQ 21.5
        reference  I4     Base 0.5
        TEA        I1     Base 0.5
        TEA        I2     Base 0.5
        TEA        Store  DR-SQ 21.5
        TEA        I4     Base 0.5
        NCI-TEA    I1     Base 1
        NCI-TEA    Store  DR-SQ 22
        IBS        Store  Base 21
        IBS        I5     Base 2
        SPE        Store  Base 21
        SPE        I5     Base 2
        RIS        I5     Base 23
        ",
    );
}

/// A load was executed before an older store to the same place: it is thrown away with all behind it, and
/// executed again.
#[test]
fn memory_order_violation() {
    let table = "program  Store Load I3 I4 I5
         cycle    reorder buffer            | dispatch | fetch
         1        Store* Load               | I4       | I5
         2        Load[FL-MO]!exception I3  | I4       | I5
         3-4      -                         | Load     | Load
         5-6      -                         | Load     | I4
         7-8      Load I3                   | I4       | I5
         9        Load* I3*                 | I4       | I5
         10       I4* I5*";
    where_time_goes(
        table,
        9,
        "
                  Store   Load   I3   I4   I5   lost
        Oracle        1    7.5  0.5    -    -      -
        TIP           1    7.5  0.5    -    -      -
        TIP-ILP       1      8    -    -    -      -
        NCI           1      8    -    -    -      -
        NCI+ILP       1      4    4    -    -      -
        LCI           8      1    -    -    -      -
        Dispatch      -      4    -    5    -      -
        Software      -      2    -    2    5      -
        ",
    );
    why_time_passes(
        table,
        9,
        "
        reference  Store  Base 1
        reference  Load   FL-MO 5, Base 2.5
        reference  I3     Base 0.5
        TEA        Store  Base 1
        TEA        Load   FL-MO 5, Base 2.5
        TEA        I3     Base 0.5
        NCI-TEA    Store  Base 1
        NCI-TEA    Load   Base 8
        IBS        Load   Base 4
        IBS        I4     Base 5
        SPE        Load   Base 4
        SPE        I4     Base 5
        RIS        Load   Base 2
        RIS        I4     Base 2
        RIS        I5     Base 5
        ",
    );
}

/// Figure B.1: a loop of four instructions, of which one cycle in a thousand is sampled. The samples find an
/// instruction cache miss, a misprediction, a data cache miss, and two cycles in which all four commit.
#[test]
fn figure_b1() {
    sampled(
        "program    I1 I2 I3 I4  I1 I2 I3 I4  I1 I2 I3 I4  I1 I2 I3 I4
         cycle      reorder buffer
         0-999      -
         1000       I1[DR-L1] I2 I3 I4
         1001       I1[DR-L1]* I2* I3* I4[FL-MB]!mispredicted*
         1002-1999  -
         2000-2999  I1[ST-L1] I2 I3 I4
         3000       I1[ST-L1]* I2* I3* I4*
         3001-3998  I1 I2 I3 I4
         3999       I1* I2* I3* I4*
         4000-4998  I1 I2 I3 I4
         4999       I1* I2* I3* I4*",
        Schedule::periodic(1000),
        "TEA",
        "
        I1  DR-L1 1000, ST-L1 1000, Base 500
        I2  Base 500
        I3  Base 500
        I4  FL-MB 1000, Base 500
        ",
    );
}

/// Figure B.2: I1 waits for the data cache and the TLB, and holds up I5 at dispatch and I8 at fetch. I5
/// missed the instruction cache, which cost nothing.
#[test]
fn figure_b2() {
    why_time_passes(
        "program  I1 I2 I3 I4 I5 I6 I7 I8
         cycle    reorder buffer                           | dispatch | fetch
         1        I1[ST-L1+ST-TLB] I2[ST-L1] I3 I4         | I5       | I8
         2        I1[ST-L1+ST-TLB]* I2[ST-L1]* I3* I4*
         3        I5[DR-L1]* I6* I7* I8*",
        1,
        "
        reference  I1  ST-L1+ST-TLB 1
        TEA        I1  ST-L1+ST-TLB 1
        NCI-TEA    I1  ST-L1+ST-TLB 1
        IBS        I5  DR-L1 1
        SPE        I5  Base 1
        RIS        I8  Base 1
        ",
    );
}
