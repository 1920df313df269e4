//! The choices that a flash profile may name: every enumeration whose values are texts in TOML.
//!
//! The first of each is what a drive does whose profile does not choose.

/// An enumeration whose names in profiles are fixed texts.
macro_rules! choices {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)+ }

        impl $name {
            /// Every choice, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        /// The first choice.
        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
                out.write_str(match self { $(Self::$variant => $text,)+ })
            }
        }
    };
}

pub(crate) use choices;

choices! {
    /// Kind of mapping from logical to physical pages.
    Mapping {
        /// Any page anywhere.
        Page = "page",
        /// Whole blocks only: a write into a written block reads, erases and writes it again, as the first drives did.
        Block = "block",
        /// Any page anywhere, but the map itself lies on flash and is cached on demand (DFTL).
        Demand = "demand",
        /// Whole blocks, each with a log block of its own while it is written to (BAST).
        Bast = "bast",
        /// Whole blocks with log blocks that all of them share, and one for a sequential stream (FAST).
        Fast = "fast",
    }
}

choices! {
    /// Victim selection: which full block is collected next.
    Victim {
        /// The one with the fewest valid pages.
        Greedy = "greedy",
        /// The one that was filled first.
        Fifo = "fifo",
        /// The best of a few drawn at random.
        DChoices = "d-choices",
        /// The largest age x stale / valid (Kawaguchi and others, 1995); age in pages written by the host.
        CostBenefit = "cost-benefit",
        /// Any.
        Random = "random",
    }
}

choices! {
    /// When the planes do the garbage collection that makes room for a write.
    Pace {
        /// All of it before that write.
        AtOnce = "at-once",
        /// In equal shares, one before each of the pages that it made room for.
        Paced = "paced",
    }
}

choices! {
    /// Which data shares a block.
    Frontiers {
        /// Pages of the host and survivors of collections.
        Shared = "shared",
        /// Survivors have blocks of their own, so that what the host writes in order stays together.
        SurvivorsApart = "survivors-apart",
        /// Pages that are written often have blocks of their own, apart from those that lie still, and each sort its
        /// share of the spare.
        HotCold = "hot-cold",
    }
}

choices! {
    /// In which order pages are laid over the planes.
    Allocation {
        /// The next page on the next channel, then the next die, then the next plane.
        ChannelFirst = "channel-first",
        /// The next page on the next die of the channel, then the next plane, then the next channel.
        DieFirst = "die-first",
        /// The next page on the next plane of the die, then the next channel, then the next die.
        PlaneFirst = "plane-first",
        /// Every logical page has its plane: its number modulo the planes, channels first.
        ByAddress = "by-address",
    }
}

choices! {
    /// Operations that the planes of one die can do at the same time.
    PlaneWork {
        /// Anything.
        Independent = "independent",
        /// The same operation, begun together (multi-plane commands).
        Together = "together",
        /// Nothing: one at a time.
        One = "one",
    }
}

choices! {
    /// Which pages of the planes of one die are read together.
    PlaneReads {
        /// Any.
        AnyPages = "any-pages",
        /// Those at the same place of their blocks, which what was written together is.
        SamePage = "same-page",
    }
}

choices! {
    /// Wear levelling: how erases are spread over the blocks.
    Levelling {
        /// Not at all: the block that was freed first is used next.
        Off = "none",
        /// Of the free blocks the least worn is used next; of equally good ones the least worn is collected (greedy).
        Dynamic = "dynamic",
        /// As dynamic, and data that stays unchanged is moved onto worn blocks.
        Static = "static",
    }
}

choices! {
    /// Treatment of a write when the SLC cache is full.
    SlcDesign {
        /// It goes to cells of all bits directly.
        Bypass = "bypass",
        /// It waits until blocks of the cache were folded: everything passes the cache.
        Through = "through",
    }
}

choices! {
    /// Bits in a cell.
    Cell {
        /// One bit per cell.
        Slc = "slc",
        /// Two bits per cell.
        Mlc = "mlc",
        /// Three bits per cell.
        Tlc = "tlc",
        /// Four.
        Qlc = "qlc",
    }
}

impl Cell {
    /// Program and erase cycles that such cells are usually rated for (100,000, 10,000, 5,000 and 1,000).
    pub fn pe_cycles(self) -> u64 {
        match self {
            Self::Slc => 100_000,
            Self::Mlc => 10_000,
            Self::Tlc => 5_000,
            Self::Qlc => 1_000,
        }
    }
}

choices! {
    /// What happens when the blocks have had their rated cycles on average, or one fails that nothing can replace.
    EndOfLife {
        /// Nothing; cycles are only counted.
        Ignored = "ignored",
        /// Writes are refused from then on.
        ReadOnly = "read-only",
        /// Writes are refused, and after the next power cycle reads too.
        ReadOnlyThenDead = "read-only-then-dead",
    }
}

choices! {
    /// Fate of the data in the buffer when the power fails.
    Power {
        /// It is lost.
        Volatile = "volatile",
        /// A capacitor lasts until it is on the flash.
        Protected = "protected",
    }
}

choices! {
    /// Meaning of a flush.
    Flush {
        /// It completes when everything before it is on the flash.
        Honoured = "honoured",
        /// It completes as soon as the controller has it, whatever is in the buffer.
        Ignored = "ignored",
    }
}

choices! {
    /// Treatment of a write to a page that is in the buffer and not yet on its way to the flash.
    Combining {
        /// It takes a place and a program of its own.
        Off = "none",
        /// It replaces the data there: one program for both.
        Rewrites = "rewrites",
    }
}

choices! {
    /// Source of a read of a page that is in the buffer.
    Reads {
        /// From the flash, behind its program.
        Flash = "flash",
        /// From the buffer.
        Buffer = "buffer",
    }
}

choices! {
    /// Treatment of a discard (TRIM).
    Trim {
        /// The pages that it covers whole hold no data from then on.
        Honoured = "honoured",
        /// Nothing: it is accepted, and takes the controller's time for a command.
        Ignored = "ignored",
        /// It is refused, as by drives that do not know the command.
        Refused = "refused",
    }
}

choices! {
    /// Operations that a read interrupts.
    Suspend {
        /// Nothing: a read waits for what was begun before it.
        Off = "none",
        /// An erase.
        Erase = "erase",
        /// An erase and a program.
        EraseAndProgram = "erase-and-program",
    }
}

choices! {
    /// Whether the link carries data both ways at the same time.
    Duplex {
        /// One way at a time, as SATA.
        Half = "half",
        /// Both ways, each at its rate, as SAS and PCI Express.
        Full = "full",
    }
}

choices! {
    /// In which order the arrays do what they are asked.
    Scheduling {
        /// What was submitted first is planned first.
        FirstCome = "first-come",
        /// Reads before all else, as they arrive; programs and collections may wait for them.
        ReadPriority = "read-priority",
    }
}

choices! {
    /// Path of a valid page that is copied inside a plane.
    Copies {
        /// Over the channel to the controller, and back.
        Controller = "controller",
        /// From the array into the register and back, without the channel.
        CopyBack = "copy-back",
    }
}
