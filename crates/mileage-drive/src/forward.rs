//! Forwarding of trait methods by wrappers and views: one line a method, and one for the facts that all forms of a device have.

/// Methods that do what those of the same name of a device inside do, which is a field, or an expression behind `self` for
/// methods with `&self` (`ref`) and one for methods with `&mut self` (`mut`).
macro_rules! forward {
    ($field:ident; $($rest:tt)+) => { forward! { [.$field] [.$field]; $($rest)+ } };
    ([$($by_ref:tt)+] [$($by_mut:tt)+]; ) => {};
    ([$($by_ref:tt)+] [$($by_mut:tt)+];
     ref $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?; $($rest:tt)*) => {
        fn $name(&self, $($arg: $type),*) $(-> $out)? { self $($by_ref)+ .$name($($arg),*) }
        forward! { [$($by_ref)+] [$($by_mut)+]; $($rest)* }
    };
    ([$($by_ref:tt)+] [$($by_mut:tt)+];
     mut $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?; $($rest:tt)*) => {
        fn $name(&mut self, $($arg: $type),*) $(-> $out)? { self $($by_mut)+ .$name($($arg),*) }
        forward! { [$($by_ref)+] [$($by_mut)+]; $($rest)* }
    };
}

/// The facts of a device that every form has: its size, its counters and gauges.
macro_rules! forward_facts {
    ($field:ident) => { forward_facts! { [.$field] } };
    ([$($by_ref:tt)+]) => {
        forward! { [$($by_ref)+] [$($by_ref)+];
            ref capacity_bytes() -> u64;
            ref sector_bytes() -> u32;
            ref counter_names() -> &'static [&'static str];
            ref counters(out: &mut [u64]);
            ref gauges(out: &mut [u64]);
            ref series_names() -> &'static [&'static str];
        }
    };
}

pub(crate) use {forward, forward_facts};
