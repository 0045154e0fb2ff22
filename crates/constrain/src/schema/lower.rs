//! A schema in fewer keywords that mean the same, or an error with the place of what the engine would not enforce.
//!
//! The engine reads a schema from top to bottom and joins what it finds, and some of it is lost on the way: a
//! draft's own meaning of a keyword, `items` behind `additionalItems`, bounds that are apart from their
//! `exclusive...`, keywords that its draft does not know. So each object is written anew: keywords of the value's own
//! type together, then those for the same value in place, each checked; drafts in terms of the latest.

use serde_json::{Map, Value as Json, json};

use super::budget::bound;
use super::disjoint::are_disjoint;
use super::keywords::{DIALECTS, Keyword, TYPES, Type, keyword};
use super::pointer::{child, of_reference, resolve};
use super::{constant, format, pattern};
use crate::{ConstrainError, limits};

type Object = Map<String, Json>;

/// The schema at a pointer of a document, with all that it refers to in `$defs`.
pub(super) fn document(root: &Json, start: &str) -> Result<Json, ConstrainError> {
    let lowering = |spelled_out| Lowering {
        root,
        places: vec![start.to_owned()],
        in_place: Vec::new(),
        parts: 0,
        spelled_out,
        joins: false,
    };
    let (document, joins) = lowering(true).all()?;
    // The engine cannot join two values of any kind that are spelled out: it would not come to an end.
    if joins { Ok(lowering(false).all()?.0) } else { Ok(document) }
}

struct Lowering<'a> {
    root: &'a Json,
    /// Pointers of the schemas that become definitions, in the order of their numbers.
    places: Vec<String>,
    /// For each definition, which others stand for the same value.
    in_place: Vec<Vec<usize>>,
    /// Schemas so far.
    parts: usize,
    /// Whether "any value" is spelled out. The engine's own has numbers of any exponent, which readers take for
    /// infinity or refuse; spelled out, numbers are written without one.
    spelled_out: bool,
    /// Whether two schemas are for one value.
    joins: bool,
}

impl<'a> Lowering<'a> {
    fn all(mut self) -> Result<(Json, bool), ConstrainError> {
        let mut definitions = Object::new();
        let mut next = 0;
        while let Some(place) = self.places.get(next).cloned() {
            let schema = resolve(self.root, &place).expect("a pointer that was followed");
            self.in_place.push(Vec::new());
            let lowered = self.schema(schema, &place, next, true, 0)?;
            definitions.insert(next.to_string(), lowered);
            next += 1;
        }
        self.check_circles()?;
        if self.spelled_out {
            definitions.insert("any".to_owned(), any());
        }
        Ok((json!({"$ref": "#/$defs/0", "$defs": definitions}), self.joins))
    }

    /// `of` is the definition that it is part of, `same` whether it is for that definition's own value.
    fn schema(
        &mut self,
        schema: &'a Json,
        at: &str,
        of: usize,
        same: bool,
        depth: usize,
    ) -> Result<Json, ConstrainError> {
        bound("levels of a schema", depth, limits::SCHEMA_DEPTH)?;
        self.parts += 1;
        bound("parts of a schema", self.parts, limits::SCHEMA_PARTS)?;
        match schema {
            Json::Bool(true) => Ok(self.any_value()),
            Json::Bool(false) => Ok(Json::Bool(false)),
            Json::Object(members) => Part {
                lowering: self,
                at,
                of,
                same,
                depth,
                members,
                own: Object::new(),
                second_pattern: None,
            }
            .lower(),
            other => Err(invalid(at, "an object or a boolean", other)),
        }
    }

    fn any_value(&self) -> Json {
        if self.spelled_out { json!({"$ref": "#/$defs/any"}) } else { Json::Bool(true) }
    }

    /// The number of the definition that a reference leads to.
    fn reference(&mut self, target: &str, at: &str) -> Result<usize, ConstrainError> {
        let error =
            |why| ConstrainError::Reference { pointer: at.to_owned(), target: target.to_owned(), why };
        if !target.starts_with('#') {
            return Err(error("leads to another document; expected #/... in this one"));
        }
        let pointer = of_reference(target).ok_or_else(|| error("is no JSON pointer; expected #/..."))?;
        if resolve(self.root, &pointer).is_none() {
            return Err(error("leads to nothing"));
        }
        Ok(self.places.iter().position(|place| *place == pointer).unwrap_or_else(|| {
            self.places.push(pointer);
            self.places.len() - 1
        }))
    }

    /// A schema that is itself, over references and nothing else, says nothing.
    fn check_circles(&self) -> Result<(), ConstrainError> {
        let count = self.in_place.len();
        // References into each definition from those that are not known to end.
        let mut open: Vec<usize> = self.in_place.iter().map(Vec::len).collect();
        let mut from: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (of, targets) in self.in_place.iter().enumerate() {
            targets.iter().for_each(|target| from[*target].push(of));
        }
        let mut ended: Vec<usize> = (0..count).filter(|of| open[*of] == 0).collect();
        while let Some(target) = ended.pop() {
            for of in &from[target] {
                open[*of] -= 1;
                if open[*of] == 0 {
                    ended.push(*of);
                }
            }
        }
        match open.iter().position(|open| *open > 0) {
            None => Ok(()),
            Some(of) => Err(ConstrainError::Reference {
                pointer: self.places[of].clone(),
                target: format!("#{}", self.places[of]),
                why: "leads back to itself without a value in between",
            }),
        }
    }
}

/// One object of the schema.
struct Part<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    at: &'l str,
    of: usize,
    same: bool,
    depth: usize,
    members: &'a Object,
    /// Keywords of one type, written anew.
    own: Object,
    /// Where there is a pattern and a format.
    second_pattern: Option<String>,
}

impl<'a> Part<'_, 'a> {
    fn lower(mut self) -> Result<Json, ConstrainError> {
        let mut types = None;
        let mut families: Vec<Type> = Vec::new();
        let mut in_place = Object::new();
        let mut in_place_first = false;
        for (name, value) in self.members {
            let at = child(self.at, name);
            match keyword(name) {
                Keyword::Annotation | Keyword::Definitions => {}
                Keyword::Dialect => self.check_dialect(value, &at)?,
                Keyword::Identifier if self.at.is_empty() => {}
                Keyword::Identifier => {
                    return Err(constant::unsupported(&at, name, "only the whole schema may have a name"));
                }
                Keyword::Refused(why) => return Err(constant::unsupported(&at, name, why)),
                Keyword::Type => types = Some(read_types(value, &at)?),
                Keyword::InPlace => {
                    in_place_first |= self.own.is_empty();
                    let lowered = self.in_place(name, value, &at)?;
                    in_place.insert(name.clone(), lowered);
                }
                Keyword::Of(family) => {
                    self.assertion(name, value, &at)?;
                    if !families.contains(&family) {
                        families.push(family);
                    }
                }
            }
        }
        if let Some(types) = &types {
            self.drop_other_families(types);
        }
        // Keywords of one type only mean that type.
        if let ([family], None, true) = (&families[..], &types, in_place.is_empty()) {
            types = Some(vec![family.name()]);
        }
        if let Some(pattern) = self.second_pattern.take() {
            let all = in_place.entry("allOf").or_insert_with(|| json!([]));
            all.as_array_mut().expect("a list, as written here").push(json!({"pattern": pattern}));
        }
        if types.is_none() && self.own.is_empty() && in_place.is_empty() {
            return Ok(self.lowering.any_value());
        }
        self.note_joins(&in_place, types.is_some());
        let has_values = in_place.contains_key("const") || in_place.contains_key("enum");
        self.bound_multiples();
        let has_own = types.is_some() || !self.own.is_empty();
        if self.lowering.spelled_out && has_own && !has_values {
            self.spell_out(types.as_deref());
            let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
            let is_open = !bounds.iter().any(|bound| self.own.contains_key(*bound));
            let may_be_number = types.as_ref().is_none_or(|types| types.contains(&"number"));
            if is_open && may_be_number && in_place.is_empty() {
                return Ok(self.signed(types.as_deref()));
            }
        }
        if !has_values && types.as_ref().is_some_and(|types| types.contains(&"number")) {
            self.bound_exponents();
        }
        if let Some(types) = types {
            self.own.insert("type".to_owned(), json!(types));
        }
        let (mut first, second) = if in_place_first { (in_place, self.own) } else { (self.own, in_place) };
        first.extend(second);
        Ok(Json::Object(first))
    }

    /// Readers round numbers of more than 15 digits, and what was a multiple is none any more.
    fn bound_multiples(&mut self) {
        let Some(unit) = self.own.get("multipleOf").and_then(Json::as_f64) else { return };
        let most = if unit.fract() == 0.0 { 999_999_999_999_999i64 } else { 999_999_999_999 };
        for (inclusive, exclusive, bound) in
            [("minimum", "exclusiveMinimum", -most), ("maximum", "exclusiveMaximum", most)]
        {
            if !self.own.contains_key(exclusive) {
                self.own.entry(inclusive).or_insert_with(|| json!(bound));
            }
        }
    }

    /// What is said of types that the value cannot have says nothing.
    fn drop_other_families(&mut self, types: &[&str]) {
        let may_be = |family: Type| {
            types.contains(&family.name()) || (family == Type::Number && types.contains(&"integer"))
        };
        self.own.retain(|name, _| !matches!(keyword(name), Keyword::Of(family) if !may_be(family)));
        if !may_be(Type::String) {
            self.second_pattern = None;
        }
    }

    /// Numbers with a bound are written without exponents, which readers take for infinity or refuse. Where several
    /// schemas are for one number, alternatives as in [`Part::signed`] would be joined with each other.
    fn bound_exponents(&mut self) {
        let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        if !bounds.iter().any(|bound| self.own.contains_key(*bound)) {
            self.own.insert("minimum".to_owned(), json!(-constant::EXACT));
            self.own.insert("maximum".to_owned(), json!(constant::EXACT));
        }
    }

    /// Numbers at or above 0 and at or below: so said, they are written without exponents.
    fn signed(self, types: Option<&[&str]>) -> Json {
        let numbers = ["number", "integer"];
        let others: Vec<&str> =
            types.unwrap_or(&TYPES).iter().copied().filter(|name| !numbers.contains(name)).collect();
        let mut options =
            vec![json!({"type": "number", "minimum": 0}), json!({"type": "number", "maximum": 0})];
        if !others.is_empty() {
            let mut other = self.own;
            other.insert("type".to_owned(), json!(others));
            options.insert(0, Json::Object(other));
        }
        json!({"anyOf": options})
    }

    /// What is not said of items and members may be any value.
    fn spell_out(&mut self, types: Option<&[&str]>) {
        let may_be = |name| types.is_none_or(|types| types.contains(&name));
        for (name, rest) in [("object", "additionalProperties"), ("array", "items")] {
            if may_be(name) && !self.own.contains_key(rest) {
                self.own.insert(rest.to_owned(), self.lowering.any_value());
            }
        }
    }

    fn note_joins(&mut self, in_place: &Object, typed: bool) {
        let schemas = |name: &str| in_place.get(name).map_or(0, |value| value.as_array().map_or(1, Vec::len));
        let alternatives =
            ["anyOf", "oneOf", "$ref"].iter().filter(|name| in_place.contains_key(**name)).count();
        let own = usize::from(typed || !self.own.is_empty());
        let named_twice = self.own.contains_key("properties") && self.own.contains_key("patternProperties");
        self.lowering.joins |= own + schemas("allOf") + alternatives > 1 || named_twice;
    }

    fn check_dialect(&self, value: &Json, at: &str) -> Result<(), ConstrainError> {
        let known = |name: &str| DIALECTS.iter().any(|dialect| name.trim_end_matches('#').ends_with(dialect));
        match value.as_str() {
            Some(name) if known(name) => Ok(()),
            Some(_) => Err(constant::unsupported(
                at,
                "$schema",
                format!("expected one of https{}", DIALECTS.join(", http")),
            )),
            None => Err(invalid(at, "a string", value)),
        }
    }

    fn in_place(&mut self, name: &str, value: &'a Json, at: &str) -> Result<Json, ConstrainError> {
        match name {
            "const" => {
                constant::check(value, at, name)?;
                Ok(value.clone())
            }
            "enum" => {
                list(value, at)?;
                constant::check(value, at, name)?;
                Ok(value.clone())
            }
            "$ref" => {
                let target = value.as_str().ok_or_else(|| invalid(at, "a string", value))?;
                let number = self.lowering.reference(target, at)?;
                if self.same {
                    self.lowering.in_place[self.of].push(number);
                }
                Ok(json!(format!("#/$defs/{number}")))
            }
            "oneOf" => {
                let root = self.lowering.root;
                // Each is held against each.
                bound("alternatives of oneOf", list(value, at)?.len(), limits::ALTERNATIVES)?;
                for (index, one) in list(value, at)?.iter().enumerate() {
                    let others = &list(value, at)?[..index];
                    if !others.iter().all(|other| are_disjoint(root, one, other)) {
                        let why = "alternatives may overlap (anyOf allows it)";
                        return Err(constant::unsupported(&child(at, &index.to_string()), name, why));
                    }
                }
                self.schemas(value, at, self.same)
            }
            _ => self.schemas(value, at, self.same),
        }
    }

    fn assertion(&mut self, name: &str, value: &'a Json, at: &str) -> Result<(), ConstrainError> {
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

    fn schemas(&mut self, value: &'a Json, at: &str, same: bool) -> Result<Json, ConstrainError> {
        let items = list(value, at)?;
        let lowered =
            items.iter().enumerate().map(|(i, item)| self.part(item, &child(at, &i.to_string()), same));
        lowered.collect()
    }

    fn part(&mut self, schema: &'a Json, at: &str, same: bool) -> Result<Json, ConstrainError> {
        self.lowering.schema(schema, at, self.of, same, self.depth + 1)
    }
}

/// Any value, in terms of itself.
fn any() -> Json {
    let any = json!({"$ref": "#/$defs/any"});
    json!({"anyOf": [
        {"type": ["null", "boolean", "string"]},
        {"type": "number", "minimum": 0},
        {"type": "number", "maximum": 0},
        {"type": "array", "items": any},
        {"type": "object", "additionalProperties": any},
    ]})
}

fn read_types<'a>(value: &'a Json, at: &str) -> Result<Vec<&'a str>, ConstrainError> {
    let expected = || format!("one of {}", TYPES.join(", "));
    let known = |value: &'a Json, at: &str| match value.as_str() {
        Some(name) if TYPES.contains(&name) => Ok(name),
        _ => Err(invalid(at, expected(), value)),
    };
    match value {
        Json::Array(items) => {
            list(value, at)?;
            let mut names = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let name = known(item, &child(at, &i.to_string()))?;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Ok(names)
        }
        other => Ok(vec![known(other, at)?]),
    }
}

/// A list with something in it.
fn list<'a>(value: &'a Json, at: &str) -> Result<&'a [Json], ConstrainError> {
    match value.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(invalid(at, "a list that is not empty", value)),
    }
}

/// A whole number from 0 on, written as `3` or `3.0`.
fn count(value: &Json, at: &str) -> Result<u64, ConstrainError> {
    let most = f64::from(u32::MAX);
    let whole = value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=most).contains(n));
    whole.map(|n| n as u64).ok_or_else(|| invalid(at, format!("a whole number from 0 to {most}"), value))
}

fn invalid(at: &str, expected: impl Into<String>, found: &Json) -> ConstrainError {
    let mut text = found.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(57).chain("...".chars()).collect();
    }
    ConstrainError::Invalid { pointer: at.to_owned(), expected: expected.into(), found: text }
}
