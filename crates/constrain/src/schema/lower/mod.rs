//! A schema in fewer keywords that mean the same, or an error with the place of what the engine would not enforce.
//!
//! The engine reads a schema from top to bottom and joins what it finds, and some of it is lost on the way: a
//! draft's own meaning of a keyword, `items` behind `additionalItems`, bounds that are apart from their
//! `exclusive...`, keywords that its draft does not know. So each object is written anew: keywords of the value's own
//! type together, then those for the same value in place, each checked; drafts in terms of the latest.

mod assertion;
mod number;
mod part;
mod read;

use serde_json::{Map, Value as Json, json};

use super::budget::bound;
use super::pointer::{of_reference, resolve};
use crate::{ConstrainError, limits};
use part::Part;
use read::invalid;

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
