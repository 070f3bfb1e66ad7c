// SPDX-License-Identifier: GPL-2.0-only
//! Whether a document is as a JSON Schema says, as far as keywords go that schemas of ours use.

use serde_json::Value;

/// The part of the `schema` that a reference such as `#/$defs/Run` means.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolved(root, root.pointer(reference.trim_start_matches('#')).expect(reference)),
        None => schema,
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

/// What the keywords that our schemas use say against `value` at `path`. A member that no schema names is a mistake too:
/// documents must not have more than is described.
pub fn mistakes(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    mistakes_within(root, &Value::Null, schema, value, path)
}

/// The same, of a form that a value may have by an `outer` schema, which names members too.
fn mistakes_within(root: &Value, outer: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let schema = resolved(root, schema);
    let mut found = Vec::new();
    for keyword in schema.as_object().into_iter().flatten().map(|(keyword, _)| keyword.as_str()) {
        let list = || schema[keyword].as_array().unwrap().iter();
        match keyword {
            "type" => {
                let named = |name: &Value| has_type(value, name.as_str().unwrap());
                let fits =
                    schema["type"].as_array().map_or_else(|| named(&schema["type"]), |names| names.iter().any(named));
                found.extend((!fits).then(|| format!("{path}: {value} is no {}", schema["type"])));
            }
            "required" => {
                let missing = list().filter(|name| value.get(name.as_str().unwrap()).is_none());
                found.extend(missing.map(|name| format!("{path}: no {name}")));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                found.extend(
                    items.flat_map(|(at, item)| mistakes(root, &schema["items"], item, &format!("{path}[{at}]"))),
                );
            }
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten().zip(list()).enumerate();
                let of = |(at, (item, schema))| mistakes(root, schema, item, &format!("{path}[{at}]"));
                found.extend(items.flat_map(of));
            }
            "minItems" | "maxItems" => {
                let (has, bound) = (value.as_array().map_or(0, Vec::len) as u64, schema[keyword].as_u64().unwrap());
                let fits = if keyword == "minItems" { has >= bound } else { has <= bound };
                found.extend((!fits && value.is_array()).then(|| format!("{path}: {has} items")));
            }
            "anyOf" | "oneOf" => {
                let options = list().map(|option| mistakes_within(root, schema, option, value, path));
                let options: Vec<Vec<String>> = options.collect();
                if options.iter().all(|found| !found.is_empty()) {
                    found.extend(options.concat());
                }
            }
            "enum" => found.extend((!list().any(|one| one == value)).then(|| format!("{path}: {value}"))),
            "const" => found.extend((schema["const"] != *value).then(|| format!("{path}: {value}"))),
            "properties" | "patternProperties" | "additionalProperties" => {}
            "title" | "description" | "default" | "format" | "minimum" | "maximum" => {}
            "$schema" | "$defs" | "$ref" => {}
            other => panic!("{path}: keyword {other} is not looked at"),
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let below = format!("{path}.{name}");
        if let Some(schema) = member_of(schema, name) {
            found.extend(mistakes(root, schema, member, &below));
        } else if schema["type"] == "object"
            && !in_options(root, schema, name)
            && outer["properties"].get(name).is_none()
        {
            found.push(format!("{below} is not described"));
        }
    }
    found
}

/// What a schema itself says of a member.
fn member_of<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema["properties"]
        .get(name)
        .or_else(|| numbered(schema, name))
        .or_else(|| schema.get("additionalProperties").filter(|any| any.is_object() || **any == true))
}

/// Whether one of the forms that a value may have names a member.
fn in_options(root: &Value, schema: &Value, name: &str) -> bool {
    let options = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
    options.map(|option| resolved(root, option)).any(|option| member_of(option, name).is_some())
}

/// What a schema says of members whose names are numbers.
fn numbered<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let (pattern, member) = schema["patternProperties"].as_object()?.iter().next()?;
    assert_eq!(pattern, r"^\d+$", "pattern {pattern} is not looked at");
    name.bytes().all(|byte| byte.is_ascii_digit()).then_some(member)
}
