//! A served drive as a host sees it, without a kernel between.

mod data;
mod power;
