//! The drive for NBD clients of a unix socket: the fixed newstyle negotiation and simple replies of the NBD protocol
//! (github.com/NetworkBlockDevice/nbd, doc/proto.md).

use crate::monitor::DriveMonitor;
use crate::request::{Answer, Failure, HostRequest, HostRequestKind};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const MAGIC: u64 = 0x4E42_444D_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454F_5054;
const REPLY_MAGIC: u64 = 0x0003_E889_0455_65A9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_MAGIC: u32 = 0x6744_6698;
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u32 = 2;
/// Flags, flush, FUA, trim, write zeroes, several connections at a time.
const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;
const REQUEST_BYTES_MAX: u32 = 32 << 20;
const OPTION_BYTES_MAX: u32 = 4096;
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO_REPLY: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const FUA: u16 = 1;

type Writer = Arc<Mutex<UnixStream>>;

/// Where the answer of a request of a client goes.
#[derive(Debug)]
pub(crate) struct NbdAnswer {
    writer: Writer,
    cookie: u64,
}

impl Answer for NbdAnswer {
    fn give(self: Box<Self>, result: Result<Vec<u8>, Failure>) {
        let error: u32 = match result {
            Ok(_) => 0,
            Err(Failure::Io) => 5,
            Err(Failure::Invalid) => 22,
            Err(Failure::NoSpace) => 28,
            Err(Failure::Unsupported) => 95,
        };
        let data = result.unwrap_or_default();
        let mut reply = Vec::with_capacity(16 + data.len());
        reply.extend(SIMPLE_MAGIC.to_be_bytes());
        reply.extend(error.to_be_bytes());
        reply.extend(self.cookie.to_be_bytes());
        reply.extend(data);
        // A client that has left gets no answer; its thread sees the end of the connection.
        let _ = self.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&reply);
    }
}

/// Accept clients in a thread of its own.
pub(crate) fn listen(shared: &Arc<DriveMonitor>, at: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(at)?;
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("mileage-nbd".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            let client = move || {
                // What a client does wrong, or its end, ends its connection and nothing else.
                let _ = serve(&shared, stream);
            };
            // Without a thread the connection is closed, and the next client is waited for.
            drop(std::thread::Builder::new().name("mileage-nbd".to_owned()).spawn(client));
        }
    })?;
    Ok(())
}

fn serve(shared: &Arc<DriveMonitor>, stream: UnixStream) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let writer: Writer = Arc::new(Mutex::new(stream));
    if !negotiate(shared, &mut reader, &writer)? {
        return Ok(());
    }
    loop {
        if word32(&mut reader)? != REQUEST_MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let flags = word16(&mut reader)?;
        let kind = word16(&mut reader)?;
        let cookie = word64(&mut reader)?;
        let (offset_bytes, length) = (word64(&mut reader)?, word32(&mut reader)?);
        let answer = NbdAnswer { writer: Arc::clone(&writer), cookie };
        let kind = match kind {
            0 => HostRequestKind::Read,
            1 => HostRequestKind::Write,
            2 => return Ok(()),
            3 => HostRequestKind::Flush,
            4 => HostRequestKind::Discard,
            6 => HostRequestKind::WriteZeroes,
            _ => {
                Box::new(answer).give(Err(Failure::Invalid));
                continue;
            }
        };
        let moves_data = matches!(kind, HostRequestKind::Read | HostRequestKind::Write);
        if moves_data && length > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut data = vec![0; if kind == HostRequestKind::Write { length as usize } else { 0 }];
        reader.read_exact(&mut data)?;
        let is_write = matches!(kind, HostRequestKind::Write | HostRequestKind::WriteZeroes);
        let fua = flags & FUA != 0 && is_write;
        let (offset_bytes, length_bytes) =
            if kind == HostRequestKind::Flush { (0, 0) } else { (offset_bytes, u64::from(length)) };
        shared.submit(HostRequest { kind, fua, offset_bytes, length_bytes, data, answer: Box::new(answer) });
    }
}

/// Agree on the export; false when the client wants none.
fn negotiate(shared: &DriveMonitor, reader: &mut impl Read, writer: &Writer) -> io::Result<bool> {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hello = Vec::new();
    hello.extend(MAGIC.to_be_bytes());
    hello.extend(OPTION_MAGIC.to_be_bytes());
    hello.extend((FIXED_NEWSTYLE | NO_ZEROES as u16).to_be_bytes());
    writer.write_all(&hello)?;
    let client = word32(reader)?;
    let mut export = shared.capacity_bytes.to_be_bytes().to_vec();
    export.extend(EXPORT_FLAGS.to_be_bytes());
    loop {
        if word64(reader)? != OPTION_MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (option, length) = (word32(reader)?, word32(reader)?);
        if length > OPTION_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length as usize];
        reader.read_exact(&mut body)?;
        let mut reply = |kind: u32, body: &[u8]| {
            let mut reply = REPLY_MAGIC.to_be_bytes().to_vec();
            reply.extend(option.to_be_bytes());
            reply.extend(kind.to_be_bytes());
            reply.extend((body.len() as u32).to_be_bytes());
            reply.extend(body);
            writer.write_all(&reply)
        };
        match option {
            EXPORT_NAME => {
                if client & NO_ZEROES == 0 {
                    export.extend([0; 124]);
                }
                writer.write_all(&export)?;
                return Ok(true);
            }
            ABORT => {
                reply(ACK, &[])?;
                return Ok(false);
            }
            LIST => {
                reply(SERVER, &0u32.to_be_bytes())?;
                reply(ACK, &[])?;
            }
            INFO | GO => {
                let mut body = 0u16.to_be_bytes().to_vec();
                body.extend(&export);
                reply(INFO_REPLY, &body)?;
                let mut sizes = 3u16.to_be_bytes().to_vec();
                for bytes in [shared.sector_bytes, 4096, REQUEST_BYTES_MAX] {
                    sizes.extend(bytes.to_be_bytes());
                }
                reply(INFO_REPLY, &sizes)?;
                reply(ACK, &[])?;
                if option == GO {
                    return Ok(true);
                }
            }
            _ => reply(UNSUPPORTED, &[])?,
        }
    }
}

fn word16(reader: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    reader.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

fn word32(reader: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    reader.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn word64(reader: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}
