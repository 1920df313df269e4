//! Names of the operating system's errors, as people search for them.

use rustix::io::Errno;

/// `ENOSPC` and the like; `errno 123` for what storage does not answer with.
pub(crate) fn name(errno: Errno) -> String {
    let known = match errno {
        Errno::ACCESS => "EACCES",
        Errno::AGAIN => "EAGAIN",
        Errno::BADF => "EBADF",
        Errno::BADMSG => "EBADMSG",
        Errno::BUSY => "EBUSY",
        Errno::CANCELED => "ECANCELED",
        Errno::CONNABORTED => "ECONNABORTED",
        Errno::CONNREFUSED => "ECONNREFUSED",
        Errno::CONNRESET => "ECONNRESET",
        Errno::DQUOT => "EDQUOT",
        Errno::EXIST => "EEXIST",
        Errno::FAULT => "EFAULT",
        Errno::FBIG => "EFBIG",
        Errno::HOSTDOWN => "EHOSTDOWN",
        Errno::HOSTUNREACH => "EHOSTUNREACH",
        Errno::ILSEQ => "EILSEQ",
        Errno::INTR => "EINTR",
        Errno::INVAL => "EINVAL",
        Errno::IO => "EIO",
        Errno::ISDIR => "EISDIR",
        Errno::LOOP => "ELOOP",
        Errno::MEDIUMTYPE => "EMEDIUMTYPE",
        Errno::MFILE => "EMFILE",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NFILE => "ENFILE",
        Errno::NETDOWN => "ENETDOWN",
        Errno::NETUNREACH => "ENETUNREACH",
        Errno::NODATA => "ENODATA",
        Errno::NODEV => "ENODEV",
        Errno::NOENT => "ENOENT",
        Errno::NOLINK => "ENOLINK",
        Errno::NOMEDIUM => "ENOMEDIUM",
        Errno::NOMEM => "ENOMEM",
        Errno::NOSPC => "ENOSPC",
        Errno::NOTCONN => "ENOTCONN",
        Errno::NOTDIR => "ENOTDIR",
        Errno::NXIO => "ENXIO",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::OVERFLOW => "EOVERFLOW",
        Errno::PERM => "EPERM",
        Errno::PROTO => "EPROTO",
        Errno::REMOTEIO => "EREMOTEIO",
        Errno::ROFS => "EROFS",
        Errno::SHUTDOWN => "ESHUTDOWN",
        Errno::STALE => "ESTALE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::TXTBSY => "ETXTBSY",
        Errno::UCLEAN => "EUCLEAN",
        other => return format!("errno {}", other.raw_os_error()),
    };
    known.to_owned()
}

/// The operating system's sentence, without the number.
pub(crate) fn sentence(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Advice about an error during a run, with its own separator; may be empty.
pub(crate) fn advice(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => ": free space on the target or choose a smaller span",
        Errno::DQUOT => ": the quota is used up; raise it or choose a smaller span",
        Errno::FBIG => ": beyond the largest file allowed here; see `ulimit -f` and the file system's limit",
        Errno::IO | Errno::REMOTEIO | Errno::NODATA | Errno::ILSEQ | Errno::BADMSG => {
            ": the device reports a fault; see the kernel's log"
        }
        Errno::NOTCONN | Errno::CONNABORTED => ": the file system's server has ended",
        Errno::STALE => ": the server no longer knows the file; mount it again",
        Errno::NODEV | Errno::NXIO => ": the device was removed",
        _ => "",
    }
}
