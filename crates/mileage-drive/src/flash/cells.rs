//! Events of the flash cells for observers: tests keep a shadow copy of the flash with them.

/// Observes every program, copy and erase. A drive at work uses [`NoWatch`], which costs nothing.
pub(crate) trait Cells {
    /// A page received new data of this logical page.
    #[inline]
    fn programmed(&mut self, page: u32, logical: u32) {
        let _ = (page, logical);
    }

    /// A page received the data of another one.
    #[inline]
    fn copied(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// A block was erased.
    #[inline]
    fn erased(&mut self, block: u32) {
        let _ = block;
    }
}

/// Nobody watches.
pub(crate) struct NoWatch;

impl Cells for NoWatch {}
