//! IOMeter's rule of issue: bursts of one line each, and for every operation of it a draw for the kind, one for the
//! place, and one more if that is random.
//!
//! A line is drawn on a grid of 100 cells. A place follows the transfer before unless it is random anywhere in the span;
//! both are moved up to the line's alignment, counted from byte 0 of the target, and to the span's start if the
//! transfer would end behind the span. Lines and operations are drawn from two generators with one seed.

use super::{AccessLine, Chunk};
use crate::operation::{Op, OpKind};
use crate::workload::Workload;

const NS_PER_MS: u64 = 1_000_000;
const CELLS: u64 = 100;

/// IOMeter's generator: X = 136204069 X + 28500701229 modulo 2^64, and then modulo the limit.
#[derive(Clone, Debug)]
struct Generator(u64);

impl Generator {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(136_204_069).wrapping_add(28_500_701_229);
        self.0 % limit
    }
}

/// One worker of an IOMeter access specification.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    grid: Box<[AccessLine]>,
    start_bytes: u64,
    end_bytes: u64,
    line: AccessLine,
    /// Alignment of lines that give none.
    common_bytes: u32,
    /// Operations left in the burst.
    left: u32,
    /// End of the transfer before.
    position_bytes: u64,
    lines: Generator,
    operations: Generator,
    pauses: bool,
}

impl Access {
    pub(crate) fn new(workload: &Workload, thread: u32, lines: &[AccessLine]) -> Self {
        let cells = lines.iter().flat_map(|line| std::iter::repeat_n(*line, usize::from(line.share_percent)));
        let seed = workload.seed.wrapping_add(u64::from(thread).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Self {
            grid: cells.collect(),
            start_bytes: workload.span_start_bytes,
            end_bytes: workload.span_start_bytes + workload.span_bytes,
            line: lines[0],
            common_bytes: workload.operations_unit_bytes(),
            left: 0,
            position_bytes: workload.span_start_bytes,
            lines: Generator(seed),
            operations: Generator(seed),
            pauses: pauses(lines),
        }
    }

    /// Up to `count` operations, until they move `bytes`.
    pub(crate) fn fill(&mut self, count: u64, bytes: u64, chunk: &mut Chunk) {
        let (mut done, mut moved) = (0, 0);
        while done < count && moved < bytes {
            let mut pause_ns = 0;
            if self.left == 0 {
                self.line = self.grid[self.lines.below(CELLS) as usize];
                self.left = self.line.burst;
                pause_ns = u64::from(self.line.delay_ms) * NS_PER_MS;
            }
            self.left -= 1;
            let op = self.operation();
            chunk.ops.push(op);
            if self.pauses {
                chunk.pause_ns.push(pause_ns);
            }
            done += 1;
            moved += u64::from(op.length_bytes);
        }
    }

    fn operation(&mut self) -> Op {
        let AccessLine { size_bytes, read_percent, random_percent, align_bytes, .. } = self.line;
        let reads = self.operations.below(CELLS) < u64::from(read_percent);
        let jumps = self.operations.below(CELLS) < u64::from(random_percent);
        let wanted = if jumps {
            self.start_bytes + self.operations.below(self.end_bytes - self.start_bytes)
        } else {
            self.position_bytes
        };
        let align = u64::from(if align_bytes == 0 { self.common_bytes } else { align_bytes });
        let mut offset_bytes = wanted.next_multiple_of(align);
        if offset_bytes + u64::from(size_bytes) > self.end_bytes {
            offset_bytes = self.start_bytes.next_multiple_of(align);
        }
        self.position_bytes = offset_bytes + u64::from(size_bytes);
        let kind = if reads { OpKind::Read } else { OpKind::Write };
        Op { kind, length_bytes: size_bytes, offset_bytes }
    }
}

/// Whether any line asks for a pause.
pub(crate) fn pauses(lines: &[AccessLine]) -> bool {
    lines.iter().any(|line| line.delay_ms > 0)
}
