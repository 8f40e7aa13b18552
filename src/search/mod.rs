//! search

/// Stands here until the search room arrives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inventory {
    pub total: i32,
    pub reserved: i32,
    pub min_unit: i32,
    pub max_unit: i32,
    pub step_size: i32,
    pub allocation_ratio: f64,
}
