//! Keywords of one type: numbers, texts, lists, objects.

use serde_json::{Value as Json, json};

use super::Object;
use super::part::Part;
use super::read::{count, invalid};
use crate::ConstrainError;
use crate::schema::keywords::{Keyword, Type, keyword};
use crate::schema::pointer::child;
use crate::schema::{constant, format, pattern};

impl<'a> Part<'_, 'a> {
    /// What is said of types that the value cannot have says nothing.
    pub(super) fn drop_other_families(&mut self, types: &[&str]) {
        let may_be = |family: Type| {
            types.contains(&family.name()) || (family == Type::Number && types.contains(&"integer"))
        };
        self.own.retain(|name, _| !matches!(keyword(name), Keyword::Of(family) if !may_be(family)));
        if !may_be(Type::String) {
            self.second_pattern = None;
        }
    }

    pub(super) fn assertion(&mut self, name: &str, value: &'a Json, at: &str) -> Result<(), ConstrainError> {
        let lowered = match name {
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                return self.bound(name, value, at);
            }
            "multipleOf" => {
                let number = value.as_number().filter(|number| number.as_f64().is_some_and(|n| n > 0.0));
                constant::number(number.ok_or_else(|| invalid(at, "a number above 0", value))?, at, name)?;
                value.clone()
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "maxProperties" => json!(count(value, at)?),
            "minProperties" => json!(self.min_properties(value, at)?),
            "pattern" => {
                let text = value.as_str().ok_or_else(|| invalid(at, "a string", value))?;
                self.add_pattern(
                    pattern::translate(text).map_err(|why| constant::unsupported(at, name, why))?,
                );
                return Ok(());
            }
            "format" => {
                let text = value.as_str().ok_or_else(|| invalid(at, "a string", value))?;
                let unknown = || {
                    constant::unsupported(at, name, format!("expected one of {}", format::NAMES.join(", ")))
                };
                self.add_pattern(format!("^(?:{})$", format::pattern(text).ok_or_else(unknown)?));
                return Ok(());
            }
            "items" | "prefixItems" | "additionalItems" => return self.items(name, value, at),
            "uniqueItems" => match value {
                Json::Bool(false) => return Ok(()),
                Json::Bool(true) => return Err(constant::unsupported(at, name, "no grammar says so")),
                _ => return Err(invalid(at, "a boolean", value)),
            },
            "properties" => {
                let members = value.as_object().ok_or_else(|| invalid(at, "an object", value))?;
                let mut lowered = Object::new();
                for (key, schema) in members {
                    lowered.insert(key.clone(), self.part(schema, &child(at, key), false)?);
                }
                Json::Object(lowered)
            }
            "patternProperties" => {
                let members = value.as_object().ok_or_else(|| invalid(at, "an object", value))?;
                let mut lowered = Object::new();
                for (key, schema) in members {
                    let at = child(at, key);
                    let key = pattern::translate(key).map_err(|why| constant::unsupported(&at, name, why))?;
                    lowered.insert(key, self.part(schema, &at, false)?);
                }
                Json::Object(lowered)
            }
            "additionalProperties" => self.part(value, at, false)?,
            "required" => {
                let names = value.as_array().ok_or_else(|| invalid(at, "a list of strings", value))?;
                match names.iter().position(|name| !name.is_string()) {
                    Some(i) => return Err(invalid(&child(at, &i.to_string()), "a string", &names[i])),
                    None => value.clone(),
                }
            }
            other => unreachable!("{other} is in the table and not here"),
        };
        self.own.insert(name.to_owned(), lowered);
        Ok(())
    }

    /// A pattern for the whole text; a second one is a schema of its own for the same value.
    fn add_pattern(&mut self, pattern: String) {
        if self.own.contains_key("pattern") {
            self.second_pattern = Some(pattern);
        } else {
            self.own.insert("pattern".to_owned(), json!(pattern));
        }
    }

    /// Bounds as numbers; the oldest draft has a boolean beside them.
    fn bound(&mut self, name: &str, value: &Json, at: &str) -> Result<(), ConstrainError> {
        let (plain, exclusive) = if name.ends_with("inimum") {
            ("minimum", "exclusiveMinimum")
        } else {
            ("maximum", "exclusiveMaximum")
        };
        match value {
            Json::Bool(_) if name == exclusive => match self.members.get(plain) {
                Some(_) => Ok(()),
                None => Err(invalid(at, "a number", value)),
            },
            Json::Number(number) => {
                constant::number(number, at, name)?;
                let is_exclusive = name == plain && self.members.get(exclusive) == Some(&Json::Bool(true));
                let name = if is_exclusive { exclusive } else { name };
                self.own.insert(name.to_owned(), value.clone());
                Ok(())
            }
            _ => Err(invalid(at, "a number", value)),
        }
    }

    /// Names beyond the required ones may come twice in an output, and a reader counts them once: only one more than
    /// is required is sure to be another.
    fn min_properties(&mut self, value: &Json, at: &str) -> Result<u64, ConstrainError> {
        let wanted = count(value, at)?;
        let mut required: Vec<&str> = match self.members.get("required") {
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        required.sort_unstable();
        required.dedup();
        if wanted > required.len() as u64 + 1 {
            let why = format!("at most one more than the {} required", required.len());
            return Err(constant::unsupported(at, "minProperties", why));
        }
        Ok(wanted)
    }

    /// Items as in the latest draft: `prefixItems` for the first, `items` for the rest.
    fn items(&mut self, name: &str, value: &'a Json, at: &str) -> Result<(), ConstrainError> {
        let has_list = self.members.get("items").is_some_and(Json::is_array);
        let name = match name {
            "items" if has_list => {
                if self.members.contains_key("prefixItems") {
                    return Err(invalid(at, "a schema beside prefixItems", value));
                }
                "prefixItems"
            }
            "additionalItems" if has_list => "items",
            // Without a list it says nothing.
            "additionalItems" => return Ok(()),
            other => other,
        };
        let lowered = if name == "prefixItems" {
            self.schemas(value, at, false)?
        } else {
            self.part(value, at, false)?
        };
        self.own.insert(name.to_owned(), lowered);
        Ok(())
    }
}
