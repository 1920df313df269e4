//! The zones of a disk as a profile writes them: `"0:1272 9000:1200"` is 1272 sectors of 512 bytes a track from cylinder
//! 0 on, and 1200 from cylinder 9000 on.

use crate::figure::{ProfileError, impossible};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// First cylinder and logical sectors of a track of each zone, from the outer diameter inwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zones(pub Vec<(u32, u32)>);

impl Zones {
    fn parse(text: &str) -> Option<Self> {
        let zone = |word: &str| {
            let (cylinder, sectors) = word.split_once(':')?;
            Some((cylinder.parse().ok()?, sectors.parse().ok()?))
        };
        text.split_whitespace().map(zone).collect::<Option<_>>().map(Self)
    }

    /// Logical sectors of a disk with these zones.
    pub fn sectors(&self, heads: u32, cylinders: u32) -> u64 {
        let ends = self.0.iter().skip(1).map(|zone| zone.0).chain([cylinders]);
        let of_zone = |(&(first, sectors), end): (&(u32, u32), u32)| u64::from(end - first) * u64::from(sectors);
        self.0.iter().zip(ends).map(of_zone).sum::<u64>() * u64::from(heads)
    }

    /// Whether they begin at cylinder 0, follow each other, and hold whole physical sectors.
    pub(super) fn hold(&self, cylinders: u32, physical_sectors: u32) -> Result<(), ProfileError> {
        let follow = self.0.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let first = self.0.first().is_some_and(|zone| zone.0 == 0);
        if !first || !follow || self.0.last().is_none_or(|zone| zone.0 >= cylinders) {
            let expected = format!("first cylinders that begin with 0, rise, and stay below cylinders ({cylinders})");
            return impossible("zones", self, expected);
        }
        let whole = |sectors: u32| (1..=1 << 20).contains(&sectors) && sectors.is_multiple_of(physical_sectors);
        if !self.0.iter().all(|zone| whole(zone.1)) {
            let expected = format!(
                "tracks of {physical_sectors} to 1048576 sectors, a multiple of a physical sector ({physical_sectors})"
            );
            return impossible("zones", self, expected);
        }
        Ok(())
    }
}

impl std::fmt::Display for Zones {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (index, (cylinder, sectors)) in self.0.iter().enumerate() {
            write!(out, "{}{cylinder}:{sectors}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Zones {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let expected = "expected \"CYLINDER:SECTORS ...\", such as \"0:1272 9000:1200\"";
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("zones are {text:?}: {expected}")))
    }
}

impl Serialize for Zones {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
