//! Values of a submitted configuration: by Storm's own rules for its keys, in `storm_values.txt`, and by the ranges of
//! the keys that Ringstorm reads.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ringstorm_types::config::{Config, ConfigError, Origin, check_keys};
use serde_json::Value;

use crate::conf::{Conf, shown};

/// Keys and the checks for their values.
static CHECKS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut checks = "";
    let mut table = BTreeMap::new();
    for line in include_str!("storm_values.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(words) => checks = words,
            None => {
                table.insert(line, checks);
            }
        }
    }
    table
});

/// What is wrong with the values of a configuration. Keys that nobody knows may hold anything, as in Storm.
pub fn values(conf: &Conf) -> Vec<String> {
    faults(conf).into_iter().map(|(_, reason)| reason).collect()
}

/// What is wrong with settings that somebody types for a topology that runs, by the rules of a submission: keys that are
/// slips of known ones, and values. Its workers would not start again with them. A topology's own keys pass.
pub fn typed(conf: &Conf, origin: &Origin) -> Vec<String> {
    let keys = match Config::from_json(Value::Object(conf.clone()), origin).map(|config| check_keys(&config)) {
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(errors)) => errors.0.iter().map(ConfigError::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    keys.into_iter().chain(values(conf)).collect()
}

/// Keys whose values are wrong, and what is wrong with them.
pub(crate) fn faults(conf: &Conf) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let mut rest = Conf::new();
    for (key, value) in conf {
        let checks = CHECKS.get(key.as_str()).copied().unwrap_or_default();
        match checks.split_whitespace().find_map(|check| fault(check, key, value)) {
            Some(reason) => faults.push((key.clone(), reason)),
            None => {
                rest.insert(key.clone(), value.clone());
            }
        }
    }
    let read = Config::from_json(Value::Object(rest), &Origin::TOPOLOGY);
    for error in read.map_or_else(|error| vec![error], |config| config.check_values()) {
        let key = if let ConfigError::BadValue { key, .. } = &error { key.clone() } else { String::new() };
        faults.push((key, error.to_string()));
    }
    faults
}

/// What one of Storm's checks finds.
fn fault(check: &str, key: &str, value: &Value) -> Option<String> {
    if value.is_null() {
        return (check == "not-null").then(|| format!("Field {key}cannot be null! Actual value: null"));
    }
    match check {
        "text" => of_type(value.is_string(), "class java.lang.String", key, value),
        "flag" => of_type(value.is_boolean(), "class java.lang.Boolean", key, value),
        "number" => of_type(value.is_number(), "class java.lang.Number", key, value),
        "map" => of_type(value.is_object(), "interface java.util.Map", key, value),
        "int" => {
            let fits = whole(value).is_some_and(|number| i32::try_from(number).is_ok());
            (!fits).then(|| format!("Field {key} must be an Integer within type range."))
        }
        "long" => whole(value).is_none().then(|| format!("Field {key} must be an Long within type range.")),
        "positive" => positive(value.as_f64().is_some_and(|number| number > 0.0), key),
        "not-negative" => positive(value.as_f64().is_some_and(|number| number >= 0.0), key),
        "texts" => texts(key, value),
        "text-or-texts" => {
            if value.is_string() {
                None
            } else {
                texts(key, value)
            }
        }
        "map-of-texts" => map_of(Value::is_string, "java.lang.String", key, value),
        "map-of-numbers" => map_of(Value::is_number, "java.lang.Number", key, value),
        "kryo" => kryo(key, value),
        "objects" => objects(key, value, object_fault),
        "consumers" => objects(key, value, consumer_fault),
        _ => one_of(check.strip_prefix("one-of:")?, key, value),
    }
}

fn of_type(is: bool, class: &str, key: &str, value: &Value) -> Option<String> {
    let actual = java_class(value);
    (!is).then(|| format!("Field {key} must be of type {class}. Object: {} actual type: {actual}", shown(key, value)))
}

fn positive(is: bool, key: &str) -> Option<String> {
    (!is).then(|| format!("Field {key} must be a Positive Number"))
}

fn texts(key: &str, value: &Value) -> Option<String> {
    let Some(list) = value.as_array() else {
        return Some(format!("Field {key} must be an Iterable but was a {}", java_class(value)));
    };
    let other = list.iter().find(|entry| !entry.is_string() && !entry.is_null())?;
    Some(format!("Each element of the list {key} must be a java.lang.String. ({})", shown(key, other)))
}

fn map_of(is: fn(&Value) -> bool, class: &str, key: &str, value: &Value) -> Option<String> {
    let Some(map) = value.as_object() else {
        return Some(format!("Field {key} must be a Map"));
    };
    let other = map.values().find(|entry| !is(entry) && !entry.is_null())?;
    Some(format!("Each value of the map {key} must be a {class}. ({})", shown(key, other)))
}

fn kryo(key: &str, value: &Value) -> Option<String> {
    let Some(list) = value.as_array() else {
        return Some(format!("Field {key} must be an Iterable containing only Strings or Maps of Strings"));
    };
    let is_entry = |entry: &Value| match entry {
        Value::Object(map) => map.values().all(Value::is_string),
        other => other.is_string(),
    };
    let is_right = list.iter().all(is_entry);
    (!is_right).then(|| format!("Each element of the list {key} must be a String or a Map of Strings"))
}

/// A list of objects, each with a class of Java and maybe more.
fn objects(key: &str, value: &Value, entry_fault: fn(&str, &Value) -> Option<String>) -> Option<String> {
    let Some(list) = value.as_array() else {
        return of_type(false, "interface java.lang.Iterable", key, value);
    };
    let name = format!("{key} list entry");
    list.iter().filter(|entry| !entry.is_null()).find_map(|entry| entry_fault(&name, entry))
}

fn object_fault(name: &str, entry: &Value) -> Option<String> {
    let Some(object) = entry.as_object() else {
        return of_type(false, "interface java.util.Map", name, entry);
    };
    match object.get("class") {
        None => Some(format!("Field {name} must have map entry with key: class")),
        Some(class) => of_type(class.is_string() || class.is_null(), "class java.lang.String", name, class),
    }
}

fn consumer_fault(name: &str, entry: &Value) -> Option<String> {
    object_fault(name, entry).or_else(|| match entry.get("parallelism.hint") {
        None => Some(format!("Field {name} must have map entry with key: parallelism.hint")),
        Some(hint) => fault("int", name, hint),
    })
}

fn one_of(accepted: &str, key: &str, value: &Value) -> Option<String> {
    let is_one = value.as_str().is_some_and(|text| accepted.split(',').any(|accepted| accepted == text));
    let accepted = accepted.replace(',', ", ");
    (!is_one).then(|| {
        format!("Field {key} is not an accepted value. Value: {} Accepted values: [{accepted}]", shown(key, value))
    })
}

/// A number without fraction, of at most 64 bits; 2.0 is one, as in Storm.
fn whole(value: &Value) -> Option<i64> {
    let of_float = |number: f64| (number.fract() == 0.0 && number.abs() < i64::MAX as f64).then_some(number as i64);
    value.as_i64().or_else(|| if value.is_u64() { None } else { value.as_f64().and_then(of_float) })
}

/// The class that Storm's JSON parser makes of a value, for messages.
fn java_class(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "class java.lang.Boolean",
        Value::Number(number) => match number.as_i64() {
            Some(number) if i32::try_from(number).is_ok() => "class java.lang.Integer",
            Some(_) => "class java.lang.Long",
            None => "class java.lang.Double",
        },
        Value::String(_) => "class java.lang.String",
        Value::Array(_) => "class net.minidev.json.JSONArray",
        Value::Object(_) => "class net.minidev.json.JSONObject",
    }
}
