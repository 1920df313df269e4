//! Name templates of files and directories, such as `file.{worker}.{item}`.

use crate::error::Error;

/// Longest name that Linux file systems take, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Suffix of a renamed file.
pub(crate) const RENAMED: &[u8] = b".renamed";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Worker,
    Item,
    Node,
}

/// A parsed name template.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

impl Template {
    /// # Errors
    /// What is not a name: unknown braces, a slash, nothing, more than 255 bytes when its numbers are long.
    pub(crate) fn parse(what: &'static str, text: &str) -> Result<Self, Error> {
        let refuse = |expected| Err(Error::Refused { what, found: format!("\"{text}\""), expected });
        if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\0']) {
            return refuse("a file name: not empty, no slash, not a dot or two");
        }
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((word, behind)) = after.split_once('}') else {
                return refuse("each { closed by a }");
            };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(match word {
                "worker" => Piece::Worker,
                "item" => Piece::Item,
                "node" => Piece::Node,
                _ => return refuse("{worker}, {item} or {node} in braces"),
            });
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        let longest: usize =
            pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 10 }).sum();
        if longest + RENAMED.len() > NAME_BYTES_MAX {
            return refuse("a shorter name: 255 bytes with its numbers and the end of a renamed file");
        }
        if pieces.iter().filter(|piece| **piece == Piece::Item).count() > 1 {
            return refuse("{item} at most once");
        }
        Ok(Self(pieces))
    }

    pub(crate) fn has_worker(&self) -> bool {
        self.0.contains(&Piece::Worker)
    }

    pub(crate) fn has_item(&self) -> bool {
        self.0.contains(&Piece::Item)
    }

    pub(crate) fn has_node(&self) -> bool {
        self.0.contains(&Piece::Node)
    }

    /// Whether the two templates could give the same name: unless their beginnings differ before the first number of
    /// either.
    pub(crate) fn may_equal(&self, other: &Self) -> bool {
        let beginning = |template: &Self| match template.0.first() {
            Some(Piece::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let (mine, theirs) = (beginning(self), beginning(other));
        mine.starts_with(&theirs) || theirs.starts_with(&mine)
    }

    /// The name of a directory: with these numbers, without an item's.
    pub(crate) fn expand(&self, worker: u32, node: u64) -> String {
        Self::expand_pieces(&self.0, worker, node)
    }

    fn expand_pieces(pieces: &[Piece], worker: u32, node: u64) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Worker => worker.to_string(),
            Piece::Node => node.to_string(),
            Piece::Item => String::new(),
        };
        pieces.iter().map(text).collect()
    }

    /// The parts of the name before and after the item's number.
    pub(crate) fn around_item(&self, worker: u32) -> (String, String) {
        let at = self.0.iter().position(|piece| *piece == Piece::Item).unwrap_or(self.0.len());
        let behind = self.0.get(at + 1..).unwrap_or_default();
        (Self::expand_pieces(&self.0[..at], worker, 0), Self::expand_pieces(behind, worker, 0))
    }
}
