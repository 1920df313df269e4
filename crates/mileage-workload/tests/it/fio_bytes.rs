//! The data of writes from one buffer, as fio makes them without `refill_buffers`.

use mileage_workload::{Blocks, Content, FioBuffer, WriteIdentity};

const SEED: u64 = 7;

fn primed(buffer: &FioBuffer, file: u16, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    buffer.blocks().fill(WriteIdentity { file, ..WriteIdentity::default() }, 0, &mut out);
    out
}

/// Made here from the rule: random bytes of the start of the file, and three words in every sector.
fn expected(writing: WriteIdentity, offset_bytes: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    let start = WriteIdentity { file: writing.file, generation: 0, lap: 0 };
    Blocks::new(SEED, &Content::Incompressible).unwrap().fill(start, 0, &mut out);
    for at in (0..bytes / 512 * 512).step_by(512) {
        out[at..at + 8].copy_from_slice(&(offset_bytes + at as u64).to_le_bytes());
        out[at + 48..at + 52].copy_from_slice(&writing.generation.to_le_bytes());
        out[at + 52..at + 56].copy_from_slice(&u32::from(writing.file).to_le_bytes());
        out[at + 56..at + 64].copy_from_slice(&u64::from(writing.lap).to_le_bytes());
    }
    out
}

#[test]
fn the_bytes_of_a_write_do_not_depend_on_the_writes_before_it() {
    let buffer = FioBuffer::new(&Content::FioScrambled, SEED).unwrap();
    let mut used = primed(&buffer, 3, 65_536);
    for (lap, offset_bytes, bytes) in [(0, 0, 65_536), (1, 4096, 4096), (0, 1 << 40, 512), (2, 512, 5120)] {
        let writing = WriteIdentity { file: 3, generation: 0, lap };
        buffer.change(writing, offset_bytes, &mut used[..bytes]);
        assert!(used[..bytes] == expected(writing, offset_bytes, bytes), "{bytes} bytes at {offset_bytes}, lap {lap}");
    }
}

#[test]
fn writes_of_the_constant_buffer_are_the_same_and_files_differ() {
    let buffer = FioBuffer::new(&Content::FioConstant, SEED).unwrap();
    let before = primed(&buffer, 1, 8192);
    let mut after = before.clone();
    buffer.change(WriteIdentity { file: 1, generation: 0, lap: 5 }, 4096, &mut after);
    assert!(before == after);
    assert!(before != primed(&buffer, 2, 8192));
    assert!(FioBuffer::new(&Content::Incompressible, SEED).is_none());
}
