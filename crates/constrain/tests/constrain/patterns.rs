//! Patterns mean what every reader of them means.

use constrain::Constraint;
use serde_json::json;

use crate::common::{Random, output, validator, vocabulary};

#[test]
fn outputs_of_random_patterns_match_them() {
    let atoms = [
        "a", "b", "[a-c]", "[^a]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", ".", "(?:ab|c)", "[\\d_]",
        "[^\\W5]", "\\.", "é", "\\/",
    ];
    let repeats = ["", "", "", "?", "*", "+", "{2}", "{1,3}"];
    let vocabulary = vocabulary();
    let mut checked = 0;
    for seed in 0..120 {
        let mut random = Random(seed);
        let mut pattern = String::new();
        let alternatives = 1 + random.below(2);
        for i in 0..alternatives {
            pattern.push_str(if i > 0 { "|" } else { "" });
            pattern.push_str(if random.below(2) == 0 { "^" } else { "" });
            for _ in 0..1 + random.below(3) {
                pattern.push_str(atoms[random.below(atoms.len())]);
                pattern.push_str(repeats[random.below(repeats.len())]);
            }
            pattern.push_str(if random.below(2) == 0 { "$" } else { "" });
        }
        let schema = json!({"type": "string", "pattern": pattern});
        let constraint =
            Constraint::json_schema(&vocabulary, &schema).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let validator = validator(&schema);
        for seed in 0..6 {
            let out = output(&mut constraint.matcher(), &mut Random(seed), 60)
                .unwrap_or_else(|e| panic!("{pattern}: {e}"));
            let Some(out) = out else { continue };
            let value = serde_json::from_slice(&out).unwrap();
            assert!(validator.is_valid(&value), "{pattern}: {value}");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}
