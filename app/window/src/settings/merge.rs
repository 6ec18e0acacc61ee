//! Merges the settings of two windows that save to the same file.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Lists whose entries several windows may add and remove, by the last name of their place.
const LISTS: [&str; 5] = ["filters", "pins", "dial_sets", "named", "closed_sections"];
/// Objects that are replaced as a whole, with the objects that they are in: half of one launch or layout does not fit another.
const WHOLE: [(&str, &str); 2] = [("", "launch"), ("layouts", "dock")];

/// Returns the settings of a file with the changes that a window made since `before`: whatever it left as it was stays as in
/// the file.
pub fn merged<T: Clone + Serialize + DeserializeOwned>(before: &T, now: &T, file: &T) -> T {
    let values = [before, now, file].map(|one| serde_json::to_value(one).unwrap_or_default());
    let [before, now_value, file] = values;
    serde_json::from_value(merge(("", ""), &before, now_value, file)).unwrap_or_else(|_| now.clone())
}

fn merge((parent, name): (&str, &str), before: &Value, now: Value, file: Value) -> Value {
    if *before == now {
        return file;
    }
    match (before, now, file) {
        (Value::Object(before), Value::Object(now), Value::Object(file))
            if !WHOLE.contains(&(parent, name)) =>
        {
            Value::Object(merge_objects(name, before, now, file))
        }
        (Value::Array(before), Value::Array(now), Value::Array(file)) if LISTS.contains(&name) => {
            Value::Array(merge_lists(before, now, file))
        }
        (_, now, _) => now,
    }
}

fn merge_objects(
    parent: &str,
    before: &Map<String, Value>,
    mut now: Map<String, Value>,
    mut file: Map<String, Value>,
) -> Map<String, Value> {
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        // Removed here: what another window added to it since stays.
        let left = file.remove(name).map(|theirs| without(before.get(name), theirs));
        if let Some(left) = left.filter(|left| !is_empty(left)) {
            file.insert(name.clone(), left);
        }
    }
    let names: Vec<String> = now.keys().cloned().collect();
    for name in names {
        let Some(mine) = now.remove(&name) else { continue };
        let nothing = || match &mine {
            Value::Object(_) => Value::Object(Map::new()),
            Value::Array(_) => Value::Array(Vec::new()),
            _ => Value::Null,
        };
        let was = before.get(&name).cloned();
        match (was, file.remove(&name)) {
            // Another window removed it, and this one left it as it was.
            (Some(was), None) if was == mine => {}
            (was, theirs) => {
                let was = was.unwrap_or_else(nothing);
                let theirs = theirs.unwrap_or_else(nothing);
                file.insert(name.clone(), merge((parent, &name), &was, mine, theirs));
            }
        }
    }
    file
}

fn without(before: Option<&Value>, theirs: Value) -> Value {
    match (before, theirs) {
        (Some(Value::Object(before)), Value::Object(theirs)) => {
            let left =
                theirs.into_iter().map(|(name, value)| (name.clone(), without(before.get(&name), value)));
            Value::Object(left.filter(|(_, value)| !is_empty(value)).collect())
        }
        (Some(Value::Array(before)), Value::Array(theirs)) => {
            Value::Array(theirs.into_iter().filter(|one| !before.contains(one)).collect())
        }
        (None, theirs) => theirs,
        (Some(_), _) => Value::Null,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.is_empty(),
        Value::Array(array) => array.is_empty(),
        value => value.is_null(),
    }
}

fn merge_lists(before: &[Value], now: Vec<Value>, mut file: Vec<Value>) -> Vec<Value> {
    file.retain(|one| !before.contains(one) || now.contains(one));
    for one in now.into_iter().filter(|one| !before.contains(one)) {
        // A dial set or layout replaces one of the same name.
        let name = |value: &Value| value.get("name").cloned();
        file.retain(|other| *other != one && (name(&one).is_none() || name(other) != name(&one)));
        file.push(one);
    }
    file
}
