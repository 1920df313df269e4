//! An API whose target is dropped from the page cache each time as many bytes have moved.

use super::Transfer;
use mileage_workload::{Op, Sync};
use rustix::io::Errno;

/// Moves bytes by `inner`. Before the call that begins another `every_bytes`, the target is dropped from the page cache;
/// not before the first one. Dropping belongs to the latency of that call.
#[derive(Debug)]
pub(crate) struct CacheDropper<T> {
    inner: T,
    every_bytes: u64,
    left_bytes: u64,
}

impl<T: Transfer> CacheDropper<T> {
    /// `every_bytes` is not 0.
    pub(crate) fn new(inner: T, every_bytes: u64) -> Self {
        Self { inner, every_bytes, left_bytes: every_bytes }
    }

    fn before_call(&mut self) -> Result<(), Errno> {
        if self.left_bytes == 0 {
            self.inner.drop_cache()?;
            self.left_bytes = self.every_bytes;
        }
        Ok(())
    }

    fn after_call(&mut self, moved: usize) -> usize {
        self.left_bytes = self.left_bytes.saturating_sub(moved as u64);
        moved
    }
}

impl<T: Transfer> Transfer for CacheDropper<T> {
    const CALLS: u64 = T::CALLS;
    const KEEPS_BACK: bool = T::KEEPS_BACK;
    const ENDS_IN_TIME: bool = T::ENDS_IN_TIME;

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.before_call()?;
        let moved = self.inner.read(offset_bytes, into)?;
        Ok(self.after_call(moved))
    }

    fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
        self.before_call()?;
        let moved = self.inner.write(offset_bytes, from)?;
        Ok(self.after_call(moved))
    }

    fn sync(&mut self, how: Sync) -> Result<(), Errno> {
        self.inner.sync(how)
    }

    fn command(&mut self, op: &Op) -> Result<(), Errno> {
        self.inner.command(op)
    }

    fn drop_cache(&mut self) -> Result<(), Errno> {
        self.inner.drop_cache()
    }

    fn finish(&mut self) -> Result<(), Errno> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct CallCounter {
        dropped_before: Vec<u64>,
    }

    impl Transfer for CallCounter {
        const CALLS: u64 = 1;

        fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<usize, Errno> {
            if let Some(last) = self.dropped_before.last_mut()
                && *last == u64::MAX
            {
                *last = offset_bytes;
            }
            // A short count: half of what was asked for.
            Ok(into.len().div_ceil(2))
        }

        fn write(&mut self, offset_bytes: u64, from: &[u8]) -> Result<usize, Errno> {
            self.read(offset_bytes, &mut vec![0; from.len()])
        }

        fn sync(&mut self, _: Sync) -> Result<(), Errno> {
            Ok(())
        }

        fn command(&mut self, _: &Op) -> Result<(), Errno> {
            Ok(())
        }

        fn drop_cache(&mut self) -> Result<(), Errno> {
            self.dropped_before.push(u64::MAX);
            Ok(())
        }
    }

    #[test]
    fn the_cache_is_dropped_before_each_pass_but_the_first() {
        let mut transfer = CacheDropper::new(CallCounter::default(), 8192);
        let mut buffer = [0; 8192];
        for call in 0..5 {
            // 4096 bytes come of 8192.
            transfer.read(call, &mut buffer).unwrap();
        }
        assert_eq!(transfer.inner.dropped_before, [2, 4]);
    }
}
