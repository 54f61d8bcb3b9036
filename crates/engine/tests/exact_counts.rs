//! Counts of small programs against counts made by hand.

mod kernel;

use kernel::Kernel;
use timewise_profile::EdgeKind::{Branch, Call, External, Fallthrough, Jump, Return, SystemCall};
use timewise_profile::Exit;

#[test]
fn nested_loops() {
    let kernel = Kernel::count(
        "_start: mov ecx, 10
         outer:  mov eax, 3
         inner:  dec eax
                 jnz inner
         after:  dec ecx
                 jnz outer
         leave:  mov edi, 7
                 mov eax, 60
                 syscall",
    );
    let labels = ["_start", "outer", "inner", "after", "leave"];
    let counts = labels.map(|label| kernel.counts(label, 0));
    assert_eq!(counts, [(1, 1), (1, 10), (2, 30), (2, 10), (3, 1)]);
    let mut expected = [
        (None, Some("_start"), External, 1),
        (Some("_start"), Some("outer"), Fallthrough, 1),
        (Some("outer"), Some("inner"), Fallthrough, 10),
        (Some("inner"), Some("inner"), Branch, 20),
        (Some("inner"), Some("after"), Fallthrough, 10),
        (Some("after"), Some("outer"), Branch, 9),
        (Some("after"), Some("leave"), Fallthrough, 1),
        (Some("leave"), None, External, 1),
    ];
    expected.sort_unstable();
    assert_eq!(kernel.edges(0, &labels), expected);
    let profile = kernel.profile();
    assert_eq!(profile.runs[0].exit, Exit::Code(7));
    assert_eq!(profile.runs[0].warnings, [""; 0]);
    assert_eq!(profile.threads[0].instructions, Some(1 + 10 + 60 + 20 + 3));
    assert_eq!(profile.modules.len(), 1);
    use std::os::unix::ffi::OsStrExt;
    assert_eq!(profile.modules[0].path, kernel.path().as_os_str().as_bytes());
    assert_eq!(profile.blocks[kernel.block("after").index()].code, [0xff, 0xc9, 0x75, 0xf3]);
}

/// The whole function is translated first; the second entry comes later and lies in its middle, so that
/// what was translated overlaps.
#[test]
fn a_second_entry_splits_a_block() {
    let kernel = Kernel::count(
        "_start:  mov ebx, 5
         first:   call whole
         back:    dec ebx
                  jnz first
                  mov ebx, 7
         second:  call part
         back2:   dec ebx
                  jnz second
                  mov eax, 60
                  syscall
         whole:   inc rsi
                  inc rsi
         part:    inc rdi
                  inc rdi
                  ret",
    );
    assert_eq!(kernel.counts("whole", 0), (2, 5));
    assert_eq!(kernel.counts("part", 0), (3, 12));
    let edges = kernel.profile().edge_counts.iter();
    let (whole, part) = (Some(kernel.block("whole")), Some(kernel.block("part")));
    let edges: Vec<_> = edges.filter(|e| [e.from, e.to].iter().any(|b| *b == whole || *b == part)).collect();
    let kinds = |kind| edges.iter().filter(|e| e.kind == kind).map(|e| e.count).sum::<u64>();
    assert_eq!((kinds(Call), kinds(Return), kinds(Fallthrough)), (5 + 7, 12, 5));
}

/// Longer than what is translated as one piece, and never entered but at its top.
#[test]
fn long_straight_code_is_one_block() {
    let kernel = Kernel::count(
        "_start: mov ebx, 3
         long:   .rept 500
                 inc rax
                 .endr
                 dec ebx
                 jnz long
         leave:  mov eax, 60
                 syscall",
    );
    assert_eq!(kernel.counts("long", 0), (502, 3));
    assert_eq!(kernel.profile().blocks.len(), 3);
}

/// `jmp` lands in the second byte of an instruction, where other instructions stand; after these the two
/// streams meet.
#[test]
fn a_jump_into_an_instruction() {
    let kernel = Kernel::count(
        "_start: mov ebx, 4
         again:  .byte 0xb8            # mov eax, 0x00c8ffc0
         inside: .byte 0xff, 0xc0, 0xff, 0xc8   # inc eax; dec eax
         meet:   dec ebx
                 js leave
                 cmp ebx, 2
                 jg again
                 jmp inside
         leave:  mov eax, 60
                 syscall",
    );
    // Rounds 1 and 2 run the long instruction, the others what stands in it.
    assert_eq!(kernel.counts("again", 0), (1, 2));
    assert_eq!(kernel.counts("inside", 0), (2, 3));
    assert_eq!(kernel.counts("meet", 0), (2, 5));
    assert_eq!(kernel.counts("leave", 0), (2, 1));
}

/// Rounds in a row are translated when the second begins.
#[test]
fn a_loop_is_repeated_once_control_comes_back() {
    let translated = |rounds: u32| {
        let kernel = Kernel::count(&format!(
            "_start: mov ecx, {rounds}
             again:  inc eax
                     dec ecx
                     jnz again
             leave:  mov edi, 0
                     mov eax, 60
                     syscall
                     jmp leave"
        ));
        let instructions = kernel.profile().threads[0].instructions;
        assert_eq!(instructions, Some(u64::from(1 + 3 * rounds + 3)));
        kernel.counted.translation.blocks
    };
    let [once, twice, often] = [1, 2, 1000].map(translated);
    // The first round with what comes before it, what comes behind it, and the jump.
    assert_eq!(once, 3);
    assert!(twice > 8 && twice == often, "{twice} {often}");
}

/// The parent waits while its child executes in the same memory: what neither executes is not translated afterwards
/// either.
#[test]
fn after_vfork_code_is_translated_as_before() {
    let translated = |call: u32| {
        let kernel = Kernel::count(&format!(
            "_start: mov eax, {call}
                     syscall
             both:   test eax, eax
                     jz child
             parent: cmp eax, -1
                     jne leave
             never:  inc eax
             leave:  xor edi, edi
                     mov eax, 60
                     syscall
                     jmp leave
             child:  xor edi, edi
                     mov eax, 60
                     syscall
                     jmp child"
        ));
        let counts = ["both", "parent", "leave"].map(|label| kernel.counts(label, 0));
        let by_both = 1 + u64::from(call == VFORK);
        assert_eq!(counts, [(2, by_both), (2, 1), (3, 1)]);
        kernel.counted.translation.blocks
    };
    const VFORK: u32 = 58;
    const GETPID: u32 = 39;
    // The child's two.
    assert_eq!(translated(VFORK), translated(GETPID) + 2);
}

/// Four versions of a loop, each written over the one before: those that come back are known again.
#[test]
fn a_loop_that_comes_back_is_known() {
    let translated = |changes: u32| {
        // In the page: add eax, VERSION; dec ecx; jnz page; ret
        let kernel = Kernel::count(&format!(
            "_start: mov r12d, {changes}
             next:   mov edx, 3
                     call protect
                     mov ecx, r12d
                     and ecx, 3
                     shl rcx, 16
                     movabs rax, 0xc3f975c9ff00c083
                     or rax, rcx
                     mov [rip + page], rax
                     mov edx, 5
                     call protect
                     mov ecx, 3
                     call page
                     dec r12d
                     jnz next
                     xor edi, edi
                     mov eax, 60
                     syscall
             protect: lea rdi, [rip + page]
                     mov esi, 4096
                     mov eax, 10
                     syscall
                     ret
                     .balign 4096
             page:   .skip 4096"
        ));
        let instructions = kernel.profile().threads[0].instructions;
        assert_eq!(instructions, Some(u64::from(4 + 34 * changes)));
        kernel.counted.translation.blocks
    };
    assert_eq!(translated(40), translated(400));
}

#[test]
fn a_child_counts_for_itself() {
    let kernel = Kernel::count(
        "_start: mov ecx, 100
         before: dec ecx
                 jnz before
                 mov eax, 57           # fork
                 syscall
         both:   mov ebx, 3
                 test eax, eax
                 jnz spin
         child:  mov ebx, 5
         spin:   dec ebx
                 jnz spin
                 mov edi, -1
                 xor esi, esi
                 xor edx, edx
                 xor r10d, r10d
                 mov eax, 61           # wait4: none to wait for in the child
                 syscall
                 xor edi, edi
                 mov eax, 60
                 syscall",
    );
    let profile = kernel.profile();
    assert_eq!(profile.processes.len(), 2);
    assert_eq!(profile.processes[1].parent.map(|id| id.0), Some(0));
    assert_eq!(profile.processes[1].executable, profile.processes[0].executable);
    let both = |label| [0, 1].map(|process| kernel.counts(label, process).1);
    assert_eq!(both("before"), [100, 0]);
    assert_eq!(both("both"), [1, 1]);
    assert_eq!(both("child"), [0, 1]);
    assert_eq!(both("spin"), [3, 5]);
    let starts = profile.edge_counts.iter().filter(|edge| edge.from.is_none() && edge.kind == External);
    assert_eq!(starts.count(), 2);
}

/// Where a program was killed in a system call is known, so that nothing is uncertain.
#[test]
fn killed_in_a_system_call() {
    let kernel = Kernel::count(
        "_start: mov ebx, 1000
         spin:   dec ebx
                 jnz spin
                 mov eax, 39           # getpid
                 syscall
         itself: mov edi, eax
                 mov esi, 9
                 mov eax, 62           # kill
                 syscall
         never:  jmp never",
    );
    let profile = kernel.profile();
    assert_eq!(profile.runs[0].exit, Exit::Signal(9));
    assert_eq!(profile.processes[0].count_uncertainty, 0);
    assert_eq!(kernel.counts("spin", 0), (2, 1000));
    assert_eq!(kernel.counts("itself", 0), (4, 1));
    let calls: Vec<u64> =
        profile.edge_counts.iter().filter(|e| e.kind == SystemCall).map(|e| e.count).collect();
    assert_eq!(calls, [1], "the second never returned");
    assert!(!profile.edge_counts.iter().any(|edge| edge.kind == Jump));
}

/// A handler comes and goes without a trace in the code that it interrupted.
#[test]
fn a_signal_that_returns() {
    let kernel = Kernel::count(
        "_start:  mov eax, 13           # rt_sigaction
                  mov edi, 10           # SIGUSR1
                  lea rsi, action[rip]
                  xor edx, edx
                  mov r10d, 8
                  syscall
         ask:     mov eax, 39           # getpid
                  syscall
         itself:  mov ebx, 5
         again:   mov edi, eax
                  mov r12d, eax
                  mov esi, 10
                  mov eax, 62           # kill
                  syscall
         after:   mov eax, r12d
                  dec ebx
                  jnz again
         leave:   xor edi, edi
                  mov eax, 60
                  syscall
                  ud2
         handler: ret
         restore: mov eax, 15           # rt_sigreturn
                  syscall
                  .data
         action:  .quad handler, 0x4000000, restore, 0",
    );
    let counts = ["again", "after", "handler", "restore"].map(|label| kernel.counts(label, 0));
    assert_eq!(counts, [(5, 5), (3, 5), (1, 5), (2, 5)]);
    let profile = kernel.profile();
    let [after, handler, restore] = ["after", "handler", "restore"].map(|label| Some(kernel.block(label)));
    let into = |block| profile.edge_counts.iter().filter(move |edge| edge.to == block);
    assert_eq!(into(after).map(|e| (e.kind, e.count)).collect::<Vec<_>>(), [(SystemCall, 5)]);
    assert_eq!(into(handler).map(|e| (e.kind, e.count)).collect::<Vec<_>>(), [(External, 5)]);
    let last = profile.edge_counts.iter().filter(|edge| edge.from == restore);
    assert_eq!(last.map(|e| (e.to, e.kind, e.count)).collect::<Vec<_>>(), [(None, External, 5)]);
}

/// Nobody sees where a program is that is killed from outside: the counts say so, and still add up.
#[test]
fn killed_in_its_own_code() {
    let kernel = Kernel::count(
        "_start:  mov eax, 57           # fork
                  syscall
         both:    test eax, eax
                  jnz parent
         child:   mov ebx, 100000000
         delay:   dec ebx
                  jnz delay
                  mov eax, 110          # getppid
                  syscall
         murder:  mov edi, eax
                  mov esi, 9
                  mov eax, 62           # kill
                  syscall
         leave:   xor edi, edi
                  mov eax, 60
                  syscall
         parent:  mov ebx, 1000
         inner:   dec ebx
                  jnz inner
                  jmp parent",
    );
    let processes = &kernel.profile().processes;
    assert_eq!(processes[0].exit, Exit::Signal(9));
    assert_eq!(processes[0].count_uncertainty, 1);
    let ((_, rounds), (_, inner)) = (kernel.counts("parent", 0), kernel.counts("inner", 0));
    assert!(rounds > 1000 && rounds * 1000 - inner < 1000, "{rounds} {inner}");
    let stopped = kernel.profile().edge_counts.iter().filter(|edge| edge.to.is_none() && edge.process.0 == 0);
    assert_eq!(stopped.map(|edge| edge.count).sum::<u64>(), 1);
}
