//! Locate values and the first syntax error in a TOML text, for error messages with line and column.

use pyo3::prelude::*;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The line, from 1, of the value at each path of a TOML text, or of the innermost table, list or key that holds it;
/// `None` when not even its first step is there. The steps of a path are keys and, in a list, indices as text.
#[pyfunction]
pub fn toml_lines(text: &str, paths: Vec<Vec<String>>) -> Vec<Option<usize>> {
    let (table, _) = DeTable::parse_recoverable(text);
    paths.into_iter().map(|path| offset_of(table.get_ref(), &path).map(|at| line_and_column(text, at).0)).collect()
}

/// Every place where a text is not TOML: line and column, from 1, and what is wrong; empty when it is TOML 1.1.
#[pyfunction]
pub fn toml_faults(text: &str) -> Vec<(usize, usize, String)> {
    let (_, errors) = DeTable::parse_recoverable(text);
    let place = |span: Option<Range<usize>>| line_and_column(text, span.map_or(text.len(), |span| span.start));
    errors
        .iter()
        .map(|error| (place(error.span()), error))
        .map(|(at, error)| (at.0, at.1, error.message().into()))
        .collect()
}

/// Byte offset of the key (or the member of a list) that a path leads to, as far as it leads.
fn offset_of(table: &DeTable<'_>, path: &[String]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, mut value) = entry(table, first)?;
    let mut offset = key.span().start;
    for step in rest {
        (offset, value) = match value.get_ref() {
            DeValue::Table(inner) => match entry(inner, step) {
                Some((key, value)) => (key.span().start, value),
                None => break,
            },
            DeValue::Array(members) => match step.parse().ok().and_then(|index: usize| members.get(index)) {
                Some(member) => (member.span().start, member),
                None => break,
            },
            _ => break,
        };
    }
    Some(offset)
}

fn entry<'a, 'b>(table: &'a DeTable<'b>, key: &str) -> Option<(&'a Spanned<DeString<'b>>, &'a Spanned<DeValue<'b>>)> {
    table.iter().find(|(found, _)| found.get_ref() == key)
}

/// Line and column of a byte, both from 1; the column counts characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
