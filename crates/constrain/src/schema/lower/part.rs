//! One object of a schema, written anew.

use serde_json::{Value as Json, json};

use super::read::{invalid, list, read_types};
use super::{Lowering, Object};
use crate::schema::budget::bound;
use crate::schema::constant;
use crate::schema::disjoint::are_disjoint;
use crate::schema::keywords::{DIALECTS, Keyword, Type, keyword};
use crate::schema::pointer::child;
use crate::{ConstrainError, limits};

/// One object of the schema.
pub(super) struct Part<'l, 'a> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) at: &'l str,
    pub(super) of: usize,
    pub(super) same: bool,
    pub(super) depth: usize,
    pub(super) members: &'a Object,
    /// Keywords of one type, written anew.
    pub(super) own: Object,
    /// Where there is a pattern and a format.
    pub(super) second_pattern: Option<String>,
}

impl<'a> Part<'_, 'a> {
    pub(super) fn lower(mut self) -> Result<Json, ConstrainError> {
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
        self.move_whole_bounds(types.as_deref())?;
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

    pub(super) fn schemas(&mut self, value: &'a Json, at: &str, same: bool) -> Result<Json, ConstrainError> {
        let items = list(value, at)?;
        let lowered =
            items.iter().enumerate().map(|(i, item)| self.part(item, &child(at, &i.to_string()), same));
        lowered.collect()
    }

    pub(super) fn part(&mut self, schema: &'a Json, at: &str, same: bool) -> Result<Json, ConstrainError> {
        self.lowering.schema(schema, at, self.of, same, self.depth + 1)
    }
}
