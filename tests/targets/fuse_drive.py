"""A file system with one file, `drive`, served from memory over /dev/fuse by this process: a device that can die.

Run as `python fuse_drive.py MOUNT_POINT BYTES`; it prints "ready" once mounted. The few requests that a loop device
makes are answered (kernel: fuse.h, ABI 7.31 layouts); all others say that they are not known.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

HEAD = struct.Struct("<IIQQIIII")
(LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT) = (
    *(1, 2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26),
)
BATCH_FORGET, FALLOCATE, DESTROY = 42, 43, 38
LARGEST = 1 << 20


def attributes(node: int, size: int) -> bytes:
    mode = 0o040755 if node == 1 else 0o100600
    return struct.pack(
        "<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


class Drive:
    """The file and what it answers."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def answer(self, code: int, node: int, body: bytes) -> bytes | int:
        """The body of an answer, or a negative errno."""
        size = len(self.data) if node == 2 else 0
        match code:
            case _ if code == INIT:
                major, minor = struct.unpack_from("<II", body)
                del major
                return struct.pack(
                    "<IIIIHHIIHH", 7, min(minor, 31), 131072, 0, 16, 12, LARGEST, 1, 256, 0
                ) + bytes(28)
            case _ if code == LOOKUP:
                if body.rstrip(b"\0") != b"drive":
                    return -errno.ENOENT
                return struct.pack("<QQQQII", 2, 0, 3600, 3600, 0, 0) + attributes(2, len(self.data))
            case _ if code in (GETATTR, SETATTR):
                return struct.pack("<QII", 3600, 0, 0) + attributes(node, size)
            case _ if code == OPEN:
                return struct.pack("<QII", 1, 1, 0)
            case _ if code == READ:
                _, offset, length = struct.unpack_from("<QQI", body)
                return bytes(self.data[offset : offset + length])
            case _ if code == WRITE:
                _, offset, length = struct.unpack_from("<QQI", body)
                self.data[offset : offset + length] = body[40 : 40 + length]
                return struct.pack("<II", length, 0)
            case _ if code == FALLOCATE:
                _, offset, length = struct.unpack_from("<QQQ", body)
                self.data[offset : offset + length] = bytes(length)
                return b""
            case _ if code == STATFS:
                return struct.pack(
                    "<QQQQQIIII", 1 << 20, 1 << 19, 1 << 19, 10, 10, 4096, 255, 4096, 0
                ) + bytes(24)
            case _ if code in (RELEASE, FSYNC, FLUSH):
                return b""
        return -errno.ENOSYS


def main() -> None:
    place, size = sys.argv[1], int(sys.argv[2])
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,max_read={LARGEST}"
    if libc.mount(b"drive", place.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    print("ready", flush=True)
    drive = Drive(size)
    while True:
        try:
            request = os.read(device, LARGEST + 4096)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            if error.errno in (errno.EINTR, errno.ENOENT):
                continue
            raise
        _, code, unique, node, *_ = HEAD.unpack_from(request)
        if code in (FORGET, BATCH_FORGET):
            continue
        found = drive.answer(code, node, request[HEAD.size :])
        failed, body = (found, b"") if isinstance(found, int) else (0, found)
        os.write(device, struct.pack("<IiQ", 16 + len(body), failed, unique) + body)


if __name__ == "__main__":
    main()
