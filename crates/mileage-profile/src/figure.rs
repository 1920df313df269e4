//! Figures of a profile, of whatever kind: value, source and confidence; the checks of single figures; the errors.

use serde::{Deserialize, Serialize};

/// How well a figure of a profile is supported by its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Written down by the maker or measured by the named source.
    Source,
    /// Follows from written figures by the argument given.
    Inferred,
    /// Remembered by whoever wrote the profile; no text at hand.
    Memory,
    /// Chosen so that the simulated drive reproduces a written figure.
    Fitted,
    /// From the measurements that this project began with.
    Seed,
    /// An assumption that defines a drive that was never built.
    Defined,
    /// Nothing is known: the simplest choice is assumed. A policy that is only assumed yields to other choices that
    /// exclude it.
    Assumed,
    /// The profile does not state it: what every drive does that states nothing else.
    #[serde(skip)]
    Default,
}

/// One figure of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure<T> {
    /// The figure, in the unit that its key ends with.
    pub value: T,
    /// Source in words.
    pub source: String,
    /// Degree of confidence.
    pub confidence: Confidence,
    /// Other values that the drive may have instead, as far as anybody knows; none of a figure that is published. They
    /// change nothing that the drive does: a study varies its headline over them.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative<T>>,
}

/// Another value that a figure may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative<T> {
    /// The value, in the unit of the figure.
    pub value: T,
    /// Why a drive of this kind may have it, in words.
    pub reason: String,
}

/// One figure as a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureText {
    /// Its key, unit last.
    pub name: &'static str,
    /// Its value as text.
    pub value: String,
    /// Source in words.
    pub source: String,
    /// Degree of confidence.
    pub confidence: Confidence,
    /// Its alternatives, the value as text.
    pub alternatives: Vec<Alternative<String>>,
}

/// A figure as a line of a table.
pub(crate) fn row<T: ToString>(name: &'static str, figure: &Figure<T>) -> FigureText {
    let Figure { value, source, confidence, alternatives } = figure;
    let text = |one: &Alternative<T>| Alternative { value: one.value.to_string(), reason: one.reason.clone() };
    let alternatives = alternatives.iter().map(text).collect();
    FigureText { name, value: value.to_string(), source: source.clone(), confidence: *confidence, alternatives }
}

/// Whether the alternatives of all figures make sense: of figures that nobody has published, each another value, with a
/// reason. Whether a drive can have the value is judged when a drive is given it.
pub(crate) fn alternatives_hold(figures: &[FigureText]) -> Result<(), ProfileError> {
    for figure in figures.iter().filter(|figure| !figure.alternatives.is_empty()) {
        if matches!(figure.confidence, Confidence::Source | Confidence::Seed | Confidence::Defined) {
            let found = format!("{:?}, with alternatives", figure.confidence).to_lowercase();
            return impossible(figure.name, found, "alternatives only of a figure that is not published");
        }
        for (at, one) in figure.alternatives.iter().enumerate() {
            let earlier = figure.alternatives[..at].iter().any(|other| other.value == one.value);
            if one.value == figure.value || earlier {
                let expected = "each alternative once, and none the value itself";
                return impossible(figure.name, format!("{} twice", one.value), expected);
            }
            if one.reason.trim().is_empty() {
                return impossible(figure.name, format!("alternative {} without a reason", one.value), "a reason");
            }
        }
    }
    Ok(())
}

/// Reason why a text is not a profile: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("drive profile, line {line} ({text:?}): {what}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// That line, without surrounding blanks.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// A value that no drive can have.
    #[error("drive profile: {key} is {found}: expected {expected}")]
    Impossible {
        /// The key.
        key: &'static str,
        /// What was found.
        found: String,
        /// What is expected.
        expected: String,
    },
}

impl ProfileError {
    /// Error for the line at this byte of a text.
    pub(crate) fn at(text: &str, byte: usize, what: String) -> Self {
        let line = text.get(..byte.min(text.len())).unwrap_or(text).matches('\n').count();
        let text = text.lines().nth(line).unwrap_or("").trim().chars().take(80).collect();
        Self::Text { line: line + 1, text, what }
    }
}

pub(crate) fn impossible<T>(
    key: &'static str,
    found: impl std::fmt::Display,
    expected: impl Into<String>,
) -> Result<T, ProfileError> {
    Err(ProfileError::Impossible { key, found: format!("{found}"), expected: expected.into() })
}

pub(crate) fn whole(key: &'static str, figure: &Figure<u64>, min: u64, max: u64) -> Result<u32, ProfileError> {
    if (min..=max).contains(&figure.value) {
        Ok(figure.value as u32)
    } else {
        impossible(key, figure.value, format!("a whole number from {min} to {max}"))
    }
}

pub(crate) fn microseconds(key: &'static str, figure: &Figure<f64>, min_us: f64) -> Result<u64, ProfileError> {
    if (min_us..=1e6).contains(&figure.value) {
        Ok((figure.value * 1e3).round() as u64)
    } else {
        impossible(key, figure.value, format!("microseconds from {min_us} to 1000000"))
    }
}

pub(crate) fn megabytes_per_s(key: &'static str, figure: &Figure<f64>) -> Result<f64, ProfileError> {
    if (0.1..=1e6).contains(&figure.value) {
        Ok(figure.value)
    } else {
        impossible(key, figure.value, "MB/s from 0.1 to 1000000")
    }
}

pub(crate) fn rated(key: &'static str, figure: Option<&Figure<u64>>) -> Result<Option<u64>, ProfileError> {
    match figure {
        Some(figure) if figure.value == 0 => impossible(key, 0, "at least 1, or no such key"),
        Some(figure) => Ok(Some(figure.value)),
        None => Ok(None),
    }
}

pub(crate) fn or_default<T: Copy + Default>(figure: Option<&Figure<T>>) -> T {
    figure.map_or_else(T::default, |figure| figure.value)
}

/// The TOML reader's error, with the line it is about.
pub(crate) fn in_one_line(text: &str, error: &toml::de::Error) -> ProfileError {
    let what = error.message().lines().collect::<Vec<_>>().join(", ");
    ProfileError::at(text, error.span().map_or(0, |span| span.start), what)
}

/// Declares the text of a profile: its plain keys, and every figure once, in the order of the data sheet, those that every
/// profile has and those that it may have.
macro_rules! profile_text {
    (
        plain { $($(#[$attribute:meta])* $plain:ident: $plain_type:ty,)+ }
        required { $($required:ident: $type:ty),+ $(,)? }
        optional { $($optional:ident: $other:ty),+ $(,)? }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Text {
            $($(#[$attribute])* pub(crate) $plain: $plain_type,)+
            $(pub(crate) $required: $crate::figure::Figure<$type>,)+
            $(pub(crate) $optional: Option<$crate::figure::Figure<$other>>,)+
        }

        /// The keys of all figures that a profile may have.
        pub fn figure_names() -> &'static [&'static str] {
            &[$(stringify!($required),)+ $(stringify!($optional),)+]
        }

        impl Text {
            pub(crate) fn figures(&self) -> Vec<$crate::figure::FigureText> {
                use $crate::figure::row;
                let mut rows = vec![$(row(stringify!($required), &self.$required)),+];
                $(rows.extend(self.$optional.iter().map(|figure| row(stringify!($optional), figure)));)+
                rows
            }
        }
    };
}

pub(crate) use profile_text;
