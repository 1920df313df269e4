//! Content of writes, sector by sector: a few numbers from which the bytes can be computed, or the bytes themselves.
//!
//! Content travels with the request. Below a file system or a stripe a sector has another address than in the workload, so
//! that its bytes could not be computed from the address; they follow from seed, generation and the sector's origin.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Content of a write request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<Node>", try_from = "Vec<Node>")]
pub enum Content {
    /// Nobody keeps it.
    #[default]
    Unknown,
    /// Bytes that follow from numbers.
    Synthetic {
        /// Seed of the workload or file.
        seed: u64,
        /// Number of earlier writes to the sector, from 0.
        generation: u64,
        /// Number of the first sector where it was generated; the next sector of the request is the next one there.
        first_sector: u64,
    },
    /// The exclusive or of these, sector by sector: parity.
    Xor(Arc<[Content]>),
    /// The bytes themselves.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// The content of the part of a request that begins `sectors` sectors after its start and has this length: what a stripe or a
    /// torn write keeps of it.
    ///
    /// # Panics
    /// When bytes end before the part: a programmer's mistake.
    #[must_use]
    pub fn part(&self, sectors: u64, length_sectors: u64, sector_bytes: u32) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Synthetic { seed, generation, first_sector } => {
                Self::Synthetic { seed: *seed, generation: *generation, first_sector: first_sector + sectors }
            }
            Self::Xor(parts) => {
                Self::Xor(parts.iter().map(|part| part.part(sectors, length_sectors, sector_bytes)).collect())
            }
            Self::Bytes(bytes) => {
                let from = (sectors * u64::from(sector_bytes)) as usize;
                Self::Bytes(bytes[from..from + (length_sectors * u64::from(sector_bytes)) as usize].into())
            }
        }
    }
}

/// Contents of contents: none that is made here is deeper.
const DEPTH_MAX: u32 = 8;

/// A content in a saved state, where the parts of a [`Content::Xor`] follow it: a forged one cannot be nested without end.
#[derive(Serialize, Deserialize)]
enum Node {
    Unknown,
    Synthetic { seed: u64, generation: u64, first_sector: u64 },
    Xor(u32),
    Bytes(Arc<[u8]>),
}

impl From<Content> for Vec<Node> {
    fn from(content: Content) -> Self {
        match content {
            Content::Unknown => vec![Node::Unknown],
            Content::Synthetic { seed, generation, first_sector } => {
                vec![Node::Synthetic { seed, generation, first_sector }]
            }
            Content::Bytes(bytes) => vec![Node::Bytes(bytes)],
            Content::Xor(parts) => {
                let inner = parts.iter().flat_map(|part| Self::from(part.clone()));
                [Node::Xor(parts.len() as u32)].into_iter().chain(inner).collect()
            }
        }
    }
}

impl TryFrom<Vec<Node>> for Content {
    type Error = &'static str;

    fn try_from(nodes: Vec<Node>) -> Result<Self, Self::Error> {
        let mut nodes = nodes.into_iter();
        let content = joined(&mut nodes, 0).ok_or("a content that ends too early or is nested too deep")?;
        if nodes.next().is_none() { Ok(content) } else { Err("a content behind a content") }
    }
}

fn joined(nodes: &mut impl Iterator<Item = Node>, depth: u32) -> Option<Content> {
    Some(match nodes.next()? {
        Node::Unknown => Content::Unknown,
        Node::Synthetic { seed, generation, first_sector } => Content::Synthetic { seed, generation, first_sector },
        Node::Bytes(bytes) => Content::Bytes(bytes),
        Node::Xor(_) if depth == DEPTH_MAX => return None,
        Node::Xor(parts) => {
            let parts: Option<Vec<Content>> = (0..parts).map(|_| joined(nodes, depth + 1)).collect();
            Content::Xor(parts?.into())
        }
    })
}
