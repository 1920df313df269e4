//! The schema of the run record, read from the definitions of its types: names, order and types of fields.
//!
//! Programs in other languages that read the journal declare the same types. They compare them with this, so that the
//! shape of a record is decided in one place.

use crate::{
    Concurrency, ContentData, HistogramData, LatencyData, LogRecord, Mismatch, PackedData, RunError, RunRecord,
    SeriesData, SplitLatencyData, ThreadRecord, Usage,
};

/// The fields of a type in the order in which they are written: name, and Rust type as its definition has it.
pub type Fields = &'static [(&'static str, &'static str)];

/// Defines a type that is written to the journal, and lists its fields in `FIELDS`.
macro_rules! stored {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident: $kind:ty,)* }) => {
        $(#[$outer])*
        pub struct $name { $($(#[$inner])* pub $field: $kind,)* }

        impl $name {
            /// Names and types of the fields, in order.
            pub const FIELDS: $crate::Fields = &[$((stringify!($field), stringify!($kind))),*];
        }
    };
}

/// Every type that a run record consists of, by its name; `RunRecord` is the first.
pub const fn schema() -> [(&'static str, Fields); 13] {
    [
        ("RunRecord", RunRecord::FIELDS),
        ("LatencyData", LatencyData::FIELDS),
        ("SplitLatencyData", SplitLatencyData::FIELDS),
        ("HistogramData", HistogramData::FIELDS),
        ("SeriesData", SeriesData::FIELDS),
        ("Usage", Usage::FIELDS),
        ("Concurrency", Concurrency::FIELDS),
        ("ContentData", ContentData::FIELDS),
        ("PackedData", PackedData::FIELDS),
        ("ThreadRecord", ThreadRecord::FIELDS),
        ("Mismatch", Mismatch::FIELDS),
        ("LogRecord", LogRecord::FIELDS),
        ("RunError", RunError::FIELDS),
    ]
}

#[cfg(test)]
mod tests {
    use super::schema;
    use crate::RunRecord;

    #[test]
    fn the_schema_lists_the_members_of_a_record_as_they_are_written() {
        let written = serde_json::to_value(RunRecord::default()).unwrap();
        let (name, fields) = schema()[0];
        assert_eq!(name, "RunRecord");
        let mut listed: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
        listed.sort_unstable();
        let mut members: Vec<&String> = written.as_object().unwrap().keys().collect();
        members.sort_unstable();
        assert_eq!(listed, members);
    }
}
