//! Where a system call names what it is about.

/// Which arguments say what a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Nothing that is told.
    Nothing,
    /// The path in this argument.
    Path(usize),
    /// The path in the second of these, from the folder of the descriptor in the first on.
    At(usize, usize),
    /// Two paths.
    Paths(usize, usize),
    /// Two paths, each from the folder of a descriptor on.
    BothAt,
    /// A path, and one from the folder of a descriptor on: where a symbolic link leads, and where it is.
    Link,
    /// The file of the descriptor in this argument.
    Descriptor(usize),
    /// The address in the second argument of the length in the third, which the socket in the first is given.
    Address,
    /// The address in the fifth of the length in the sixth if there is one, else the file of the first.
    MayHaveAddress,
    /// The only one of an array of descriptors to be waited for.
    OnlyOne,
    /// The descriptor of a file that is mapped.
    Mapped,
    /// Kind and type of a new socket.
    NewSocket,
}

const TABLE: &[(About, &str)] = &[
    (
        About::Path(0),
        "open creat stat lstat stat64 lstat64 access execve unlink mkdir rmdir readlink chdir chmod chown lchown \
         truncate truncate64 statfs statfs64 mknod chroot utime utimes getxattr lgetxattr setxattr lsetxattr \
         listxattr llistxattr removexattr lremovexattr swapon swapoff acct umount umount2 uselib memfd_create",
    ),
    (About::Path(1), "mount inotify_add_watch"),
    (
        About::At(0, 1),
        "openat openat2 newfstatat fstatat64 statx faccessat faccessat2 unlinkat mkdirat readlinkat fchmodat \
         fchmodat2 fchownat mknodat utimensat futimesat execveat name_to_handle_at",
    ),
    (About::Paths(0, 1), "rename link symlink pivot_root"),
    (About::BothAt, "renameat renameat2 linkat"),
    (About::Link, "symlinkat"),
    (
        About::Descriptor(0),
        "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close fstat fstat64 lseek \
         _llseek fsync fdatasync ftruncate ftruncate64 fallocate fadvise64 readahead ioctl fcntl fcntl64 flock \
         getdents getdents64 fchmod fchown fchdir fgetxattr fsetxattr flistxattr fremovexattr fstatfs fstatfs64 \
         dup dup2 dup3 sync_file_range syncfs sendfile sendfile64 recvfrom recvmsg sendmsg recvmmsg sendmmsg \
         shutdown listen accept accept4 getsockname getpeername setsockopt getsockopt epoll_wait epoll_pwait \
         epoll_pwait2 timerfd_settime timerfd_gettime signalfd signalfd4 splice tee vmsplice copy_file_range \
         inotify_rm_watch",
    ),
    (About::Descriptor(2), "epoll_ctl"),
    (About::Address, "connect bind"),
    (About::MayHaveAddress, "sendto"),
    (About::OnlyOne, "poll ppoll"),
    (About::Mapped, "mmap mmap2"),
    (About::NewSocket, "socket socketpair"),
];

/// What the call of this name is about, of the 32-bit kernel's or the others.
pub fn about(name: &str, is_32_bit: bool) -> About {
    // It has its arguments in memory; `mmap2` is as the other's.
    if is_32_bit && name == "mmap" {
        return About::Nothing;
    }
    let is_it = |(_, names): &&(About, &str)| names.split_whitespace().any(|other| other == name);
    TABLE.iter().find(is_it).map_or(About::Nothing, |(about, _)| *about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscalls::{x86, x86_64};

    #[test]
    fn all_in_the_table_are_calls() {
        for name in TABLE.iter().flat_map(|(_, names)| names.split_whitespace()) {
            let is_one = name.parse::<x86_64::Sysno>().is_ok() || name.parse::<x86::Sysno>().is_ok();
            assert!(is_one, "{name}");
            let times = TABLE.iter().flat_map(|(_, names)| names.split_whitespace());
            assert_eq!(times.filter(|other| *other == name).count(), 1, "{name}");
        }
        assert_eq!((about("openat", false), about("getpid", false)), (About::At(0, 1), About::Nothing));
    }

    #[test]
    fn an_old_mapping_does_not_say_of_what() {
        assert_eq!((about("mmap", false), about("mmap2", true)), (About::Mapped, About::Mapped));
        assert_eq!(about("mmap", true), About::Nothing);
    }
}
