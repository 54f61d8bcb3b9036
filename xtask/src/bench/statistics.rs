//! What many values come to.

pub use timewise_fdo::sign_test::{median, median_interval, upper_bound};

/// The geometric mean; not a number for none.
pub fn geomean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometric_means() {
        assert!((geomean(&[1.0, 4.0, 2.0]) - 2.0).abs() < 1e-12);
    }
}
