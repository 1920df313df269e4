//! Rules of the arrays that only some profiles ask for: joint operations, interruptions, reads that depend on the place.

use super::array_operation::{ANY_READ, Array, ArrayPolicy, PROGRAM, PagePlace};
use super::timing::{Clocks, PlaneAddress};

impl Clocks {
    /// The same where planes join, or reads interrupt.
    pub(super) fn operate_in_particular(&mut self, wire: PlaneAddress, ready_ns: u64, takes_ns: u64, kind: u32) -> u64 {
        let array = &mut self.arrays[wire.array as usize];
        if self.manner == ArrayPolicy::Together {
            // Pages of a multi-plane command arrive one after the other, so a later one may join if it comes within the
            // transfers.
            let joins = array.joint_planes != 0
                && array.joint_planes & wire.plane == 0
                && array.joint_kind == kind
                && ready_ns <= array.joint_from_ns + self.costs.join_within;
            if joins {
                array.joint_planes |= wire.plane;
                array.busy_ns = array.busy_ns.max(ready_ns + takes_ns);
                return array.busy_ns;
            }
            let from_ns = array.busy_ns.max(ready_ns);
            *array = Array {
                busy_ns: from_ns + takes_ns,
                joint_from_ns: from_ns,
                joint_planes: wire.plane,
                joint_kind: kind,
            };
            return array.busy_ns;
        }
        let before_ns = array.busy_ns;
        let line = &mut self.lines[wire.array as usize];
        if kind != PROGRAM
            && ready_ns < before_ns
            && let Some(overtaking) = line.overtake(ready_ns, takes_ns, self.costs.suspend)
        {
            array.busy_ns += overtaking.adds_ns;
            line.add(before_ns, array.busy_ns, self.now_ns);
            self.suspensions += u64::from(overtaking.interrupts);
            return overtaking.done_ns;
        }
        let from_ns = before_ns.max(ready_ns);
        array.busy_ns = from_ns + takes_ns;
        // Remember the operation as interruptible; reads themselves never are.
        if kind == PROGRAM && self.manner == ArrayPolicy::Interrupted {
            line.add(from_ns, array.busy_ns, self.now_ns);
        }
        array.busy_ns
    }

    /// An array works on what may be interrupted, if anything may: programs and erases, then erases alone.
    #[inline]
    pub(super) fn allow_interruption(&mut self, array: u32, from_ns: u64, erases_from_ns: u64, to_ns: u64) {
        if let Some(line) = self.lines.get_mut(array as usize) {
            let from_ns = if self.manner == ArrayPolicy::Interrupted { from_ns } else { erases_from_ns };
            if from_ns < to_ns {
                line.add(from_ns, to_ns, self.now_ns);
            }
        }
    }

    /// Time of an array read there, and its kind for joint operations.
    pub(super) fn read_of(&self, place: PagePlace) -> (u64, u32) {
        let takes_ns = if place.open { self.costs.open_read } else { self.costs.read };
        (takes_ns, if self.same_page { place.row } else { ANY_READ })
    }
}
