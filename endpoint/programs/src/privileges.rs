//! Permanently gives up root, capabilities and system calls, before a process executes a program.

use std::fs;
use std::io;

use anyhow::{Context as _, Result, ensure};
use nix::errno::Errno;
use nix::sys::prctl::{set_dumpable, set_keepcaps, set_pdeathsig};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, geteuid, getppid, setgroups, setresgid, setresuid};

/// `CAP_DAC_READ_SEARCH` of `include/uapi/linux/capability.h`: to read files whatever their permissions.
pub(crate) const READ_ALL_FILES: u32 = 2;
/// `CAP_NET_BIND_SERVICE`: to bind ports below 1024.
pub(crate) const LOW_PORTS: u32 = 10;
/// `CAP_NET_ADMIN`: to configure the network, and to use congestion controls and buffers that ordinary users may not.
pub(crate) const NETWORK: u32 = 12;

/// The user ID and group ID of the user nobody.
const NOBODY: u32 = 65534;
/// The version of the capability structures (`_LINUX_CAPABILITY_VERSION_3`).
const CAPABILITIES_OF_64_BITS: u32 = 0x2008_0522;

/// `AUDIT_ARCH_X86_64` of `include/uapi/linux/audit.h`.
const X86_64: u32 = 0xc000_003e;
/// The bit that marks the number of an x32 system call (`__X32_SYSCALL_BIT`).
const X32: u32 = 0x4000_0000;
/// The offset of the system call's number in `struct seccomp_data`.
pub(crate) const NUMBER_AT: u32 = 0;
/// The offset of the architecture in `struct seccomp_data`.
const ARCHITECTURE_AT: u32 = 4;

/// The system calls for the keys that the kernel keeps for the user's session and for the user (keyrings(7)). Whoever
/// may make them reaches the user's keys by their numbers, from any user namespace and with any session keyring.
pub(crate) const OF_KEYS: [libc::c_long; 3] = [libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl];
/// `KEYCTL_JOIN_SESSION_KEYRING` of `include/uapi/linux/keyctl.h`.
const JOIN_SESSION_KEYRING: libc::c_long = 1;

/// A system call that is refused with certain arguments: those whose words pass all `tests`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedBy {
    pub(crate) number: libc::c_long,
    pub(crate) tests: &'static [(Word, Test)],
}

/// A test of a word of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// The word has any bit of this mask.
    HasAny(u32),
    /// The word is this number.
    Is(u32),
}

/// A 32-bit half of an argument of a system call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Word {
    /// The lower half of the argument of this index, from 0.
    Low(u32),
    /// The upper half of the argument of this index.
    High(u32),
}

impl Word {
    /// Returns the word's offset in `struct seccomp_data` on a little-endian machine.
    fn offset(self) -> u32 {
        match self {
            Self::Low(argument) => 16 + 8 * argument,
            Self::High(argument) => 20 + 8 * argument,
        }
    }
}

/// Changes the user from root to nobody. If that user does not exist, as for the root of a user namespace, the user
/// stays the same.
///
/// # Arguments
/// * `kept` - the capabilities that this process, and the programs that it executes, keep nevertheless.
///
/// # Errors
/// The kernel refuses it; or the parent, which should outlive this process, has ended.
pub fn become_nobody(kept: &[u32]) -> Result<()> {
    if !geteuid().is_root() || !is_mapped(&uid_map()?, NOBODY) {
        return Ok(());
    }
    let (user, group, parent) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY), getppid());
    set_keepcaps(!kept.is_empty()).context("keep capabilities (prctl PR_SET_KEEPCAPS)")?;
    setgroups(&[]).context("leave root's groups (setgroups)")?;
    setresgid(group, group, group).context("leave root's group (setresgid)")?;
    setresuid(user, user, user).context("give up being root (setresuid)")?;
    if !kept.is_empty() {
        have_capabilities(kept).context("keep no more capabilities than are needed (capset)")?;
    }
    // Both settings are reset when the user changes. Without the first, this process's files in /proc would belong to
    // root.
    set_dumpable(true).context("stay the owner of /proc/self (prctl PR_SET_DUMPABLE)")?;
    set_pdeathsig(Signal::SIGKILL).context("ask to die with the server (prctl PR_SET_PDEATHSIG)")?;
    ensure!(getppid() == parent, "the server has ended");
    Ok(())
}

/// Replaces the keyring of the user's session (keyrings(7)) by a new one, for this process and all that it starts.
///
/// # Errors
/// The kernel has keys, and refuses a new keyring.
pub(crate) fn leave_session_keys() -> Result<()> {
    // SAFETY: the call takes two numbers; 0 is no name.
    let joined = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0) };
    match Errno::result(joined) {
        Ok(_) | Err(Errno::ENOSYS) => Ok(()),
        Err(errno) => Err(errno).context("leave the session's keys (keyctl KEYCTL_JOIN_SESSION_KEYRING)"),
    }
}

/// Limits the capabilities of this process, and of the programs that it executes, to those of `kept` that it has.
fn have_capabilities(kept: &[u32]) -> io::Result<()> {
    let header = [CAPABILITIES_OF_64_BITS, 0];
    let permitted = permitted(header)?;
    let kept: Vec<u32> = kept.iter().copied().filter(|capability| permitted >> capability & 1 == 1).collect();
    let bits = kept.iter().fold(0_u64, |bits, capability| bits | 1 << capability);
    let halves = [bits as u32, (bits >> 32) as u32];
    // Effective, permitted and inheritable capabilities: first the lower halves, then the upper ones (capset(2)).
    let sets = halves.map(|half| [half; 3]);
    // SAFETY: header and sets have the layout of struct __user_cap_header_struct and of two struct
    // __user_cap_data_struct, and are valid for reads during the call.
    if unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    for capability in kept {
        // SAFETY: the call takes numbers.
        let raised = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0, 0) };
        if raised < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns, as a bit set, the capabilities that this process may have: root in a container does not have all.
fn permitted(header: [u32; 2]) -> io::Result<u64> {
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: header and sets have the layout that `have_capabilities` describes; the kernel writes the sets.
    if unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from(sets[0][1]) | u64::from(sets[1][1]) << 32)
}

/// Returns the user ID map of this process's user namespace (`/proc/self/uid_map`).
///
/// # Errors
/// There is no `/proc`.
pub fn uid_map() -> Result<String> {
    fs::read_to_string("/proc/self/uid_map").context("read /proc/self/uid_map")
}

/// Returns whether a user ID exists in a user namespace with this map. Lines are as in user_namespaces(7): first ID
/// inside, first outside, number of IDs.
fn is_mapped(uid_map: &str, user: u32) -> bool {
    uid_map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(user)))
    })
}

/// Limits the program that is executed next to the capabilities `kept`, even if it is root in a user namespace
/// (capabilities(7): executing a file does not give root capabilities outside the bounding set).
///
/// # Errors
/// The caller lacks `CAP_SETPCAP`.
pub(crate) fn keep_capabilities(kept: &[u32]) -> io::Result<()> {
    for capability in (0..).filter(|capability| !kept.contains(capability)) {
        // SAFETY: the call takes numbers.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } < 0 {
            let error = io::Error::last_os_error();
            // The first capability that the kernel does not know.
            return if error.raw_os_error() == Some(libc::EINVAL) && capability > 0 { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// Makes the kernel refuse some system calls of this process, and of every process that it starts, with `EPERM`: the
/// given ones, and those of all architectures other than x86-64 (seccomp(2)).
///
/// # Arguments
/// * `forbidden` - the calls that are always refused.
/// * `by_arguments` - the calls that are refused with some arguments. Filters do not see what an argument points to.
///
/// # Errors
/// The kernel has no seccomp filters.
pub(crate) fn forbid_system_calls(forbidden: &[libc::c_long], by_arguments: &[RefusedBy]) -> Result<()> {
    let instructions = filter(forbidden, by_arguments);
    let program =
        libc::sock_fprog { len: instructions.len() as libc::c_ushort, filter: instructions.as_ptr().cast_mut() };
    // SAFETY: the call takes numbers.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    Errno::result(promised).context("promise to gain no privileges (prctl PR_SET_NO_NEW_PRIVS)")?;
    // SAFETY: the program and its instructions are valid for reads during the call.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    Errno::result(set).map(drop).context("refuse system calls (seccomp)")
}

/// Returns the seccomp filter's program (`struct sock_filter` of `linux/filter.h`, seccomp(2)): each test jumps to the
/// next one or to the refusal.
fn filter(forbidden: &[libc::c_long], by_arguments: &[RefusedBy]) -> Vec<libc::sock_filter> {
    let answer = |action| statement(libc::BPF_RET | libc::BPF_K, action);
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let has_any = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let tested = |test, if_false| match test {
        Test::HasAny(mask) => jump(has_any, mask, 0, if_false),
        Test::Is(value) => jump(equal, value, 0, if_false),
    };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump(equal, X86_64, 1, 0),
        answer(refused),
        load(NUMBER_AT),
        jump(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, X32, 0, 1),
        answer(refused),
    ];
    for number in forbidden {
        program.extend([jump(equal, *number as u32, 0, 1), answer(refused)]);
    }
    for RefusedBy { number, tests } in by_arguments {
        // Each test is two instructions; after them come the refusal, and the instruction that loads the number for the
        // next call.
        let after = |tests: usize| (2 * tests) as u8;
        program.push(jump(equal, *number as u32, 0, after(tests.len()) + 2));
        for (index, (word, test)) in tests.iter().enumerate() {
            let to_the_next_call = after(tests.len() - index - 1) + 1;
            program.extend([load(word.offset()), tested(*test, to_the_next_call)]);
        }
        program.extend([answer(refused), load(NUMBER_AT)]);
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// Returns the instruction that loads the word at `offset` in `struct seccomp_data`.
pub(crate) fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Returns an instruction that is not a jump.
pub(crate) fn statement(code: u32, operand: u32) -> libc::sock_filter {
    jump(code, operand, 0, 0)
}

/// Returns a conditional jump: it skips `if_true` or `if_false` instructions.
pub(crate) fn jump(code: u32, operand: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: if_true, jf: if_false, k: operand }
}

#[cfg(test)]
mod tests {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork, getpid};

    use super::*;

    #[test]
    fn users_are_those_of_the_map() {
        assert!(is_mapped("         0          0 4294967295\n", NOBODY));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!is_mapped("0 0 1\n", NOBODY));
        assert!(!is_mapped("", NOBODY));
    }

    #[test]
    fn what_is_forbidden_is_refused_and_nothing_else() {
        // SAFETY: the child makes only system calls.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let is_set = forbid_system_calls(&[libc::SYS_connect, libc::SYS_memfd_create], &[]).is_ok();
                // SAFETY: the kernel refuses the call before it looks at its arguments.
                let call = unsafe { libc::syscall(libc::SYS_memfd_create, 0, 0) };
                let is_refused = call < 0 && Errno::last() == Errno::EPERM;
                let status = if is_set && is_refused && getpid().as_raw() > 0 { 0 } else { 1 };
                // SAFETY: nothing of the parent's is run at exit.
                unsafe { libc::_exit(status) }
            }
            ForkResult::Parent { child } => assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0))),
        }
    }

    #[test]
    fn a_call_is_refused_by_its_arguments_where_all_tests_hold() {
        const TESTS: &[(Word, Test)] = &[(Word::Low(0), Test::HasAny(6)), (Word::High(1), Test::HasAny(1))];
        const IS: &[(Word, Test)] = &[(Word::Low(1), Test::Is(libc::F_SETLK as u32))];
        let by_bits = [libc::SYS_lseek, libc::SYS_fchmod].map(|number| RefusedBy { number, tests: TESTS });
        let rules = [by_bits[0], by_bits[1], RefusedBy { number: libc::SYS_fcntl, tests: IS }];
        // No file is open at these numbers, so a call that is not refused fails with another error.
        let cases: [(libc::c_long, i32, u64, bool); 10] = [
            (libc::SYS_fcntl, 1002, libc::F_SETLK as u64, true),
            (libc::SYS_fcntl, 1002, libc::F_SETLKW as u64, false),
            (libc::SYS_fcntl, 1002, libc::F_GETFD as u64, false),
            (libc::SYS_lseek, 1002, 1 << 32, true),
            (libc::SYS_lseek, 1004, 3 << 32, true),
            (libc::SYS_lseek, 1001, 1 << 32, false),
            (libc::SYS_lseek, 1002, 2 << 32 | 1, false),
            (libc::SYS_fchmod, 1002, 1 << 32, true),
            (libc::SYS_fchmod, 1002, 1, false),
            (libc::SYS_ftruncate, 1002, 1 << 32, false),
        ];
        // SAFETY: the child makes only system calls.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let is_set = forbid_system_calls(&[libc::SYS_connect], &rules).is_ok();
                let wrong = cases.iter().position(|(call, descriptor, argument, is_refused)| {
                    // SAFETY: the calls take numbers, of which the first names no file.
                    let done = unsafe { libc::syscall(*call, *descriptor, *argument, 0) };
                    done >= 0 || (Errno::last() == Errno::EPERM) != *is_refused
                });
                let status = if is_set { wrong.map_or(0, |case| 1 + case as i32) } else { 100 };
                // SAFETY: nothing of the parent's is run at exit.
                unsafe { libc::_exit(status) }
            }
            ForkResult::Parent { child } => assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0))),
        }
    }
}
