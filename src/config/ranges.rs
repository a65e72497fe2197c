//! Values that no setting can have, told when settings are read instead of in the middle of a tick.

use toml_edit::Value;

/// Settings that are a share, or a score made of shares: from 0 to 1. Similarity lines are not among
/// them: one that nothing reaches is allowed, and warned about in each report.
const SHARES: &[&str] = &[
    "consolidate.min_coverage",
    "consolidate.doctor.bad_attribution",
    "consolidate.doctor.unreadable",
    "consolidate.doctor.identical",
    "consolidate.doctor.leaked",
    "brief.least_score",
    "route.floor",
    "route.margin",
    "route.near",
    "age.max_expire_share",
    "search.least_score",
    "search.lexical_weight",
];

/// What is wrong with the value of a setting.
pub fn problem(key: &str, value: &Value) -> Option<&'static str> {
    #[allow(clippy::cast_precision_loss, reason = "only whether it lies from 0 to 1 is asked")]
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    if !number.is_finite() {
        return Some("a number with an end is wanted");
    }
    let outside = SHARES.contains(&key) && !(0.0..=1.0).contains(&number);
    outside.then_some("a number from 0 to 1 is wanted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn every_share_is_a_setting_and_its_default_is_one() {
        let values = Layers::defaults().values();
        for share in SHARES {
            let (_, value, _) = values.iter().find(|(key, ..)| key == share).expect(share);
            let value: Value = value.parse().expect("a value");
            assert_eq!(problem(share, &value), None, "{share}");
        }
    }

    #[test]
    fn what_is_no_number_or_no_share_is_told() {
        assert!(problem("consolidate.call.timeout_seconds", &Value::from(f64::NAN)).is_some());
        assert!(problem("route.floor", &Value::from(f64::INFINITY)).is_some());
        assert!(problem("route.floor", &Value::from(2)).is_some());
        assert_eq!(problem("route.floor", &Value::from(1)), None);
        assert_eq!(problem("age.newer_entries", &Value::from(20)), None);
    }
}
