//! The Python extension module `mileage._core`: bindings to the Rust crates, without logic of their own.
//!
//! # Invariant
//! Only this crate sees Python, and nothing here decides anything. *Guard:* the house test on the manifests; the
//! stub that is generated from this crate and compared with the committed one.

mod allocator;
mod conversions;
mod drive;
mod file;
mod host;
mod log;
mod serve;
mod suites;
mod toml_text;
mod tool_calls;
mod values;
mod workload;

use pyo3::prelude::*;

/// The compiled core of Mileage: sizes, the load engine and virtual drives.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::drive::{
        PyDrive, array_data_loss, drive_alternatives, drive_figure_names, drive_figures, drive_rates, drive_title,
        simulated_array_loss,
    };
    #[pymodule_export]
    use crate::file::{PyStartBarrier, clock_ns, cpus_of_node, make_start_barrier, merge_shares, run_file, run_share};
    #[pymodule_export]
    use crate::host::{PyHost, host_figures, host_title};
    #[pymodule_export]
    use crate::log::forward_log;
    #[pymodule_export]
    use crate::serve::PyDriveServer;
    #[pymodule_export]
    use crate::suites::{
        differences_of_iozone, iozone_steps, merge_iozone_shares, merge_metadata_shares, remove_iozone_files,
        run_iozone, run_iozone_share, run_metadata, run_metadata_share,
    };
    #[pymodule_export]
    use crate::toml_text::{toml_faults, toml_lines};
    #[pymodule_export]
    use crate::tool_calls::{PyTaskFile, birth_time_ns, library_random, run_names, shuffled_offsets};
    #[pymodule_export]
    use crate::values::{
        beta_quantile, binomial_tails, chi_square_below, format_bytes, latency_quantile_ns, noncentral_t_above,
        parse_bytes, record_schema, t_quantile, t_two_sided,
    };
    #[pymodule_export]
    use crate::workload::{check_workload, content_saved, iozone_duplicates, metadata_problem, workload_problem};

    /// `release` or `debug`: measuring with a debug build is refused by `mileage run`.
    #[pymodule_export]
    const BUILD_PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

    /// The version of Mileage.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
