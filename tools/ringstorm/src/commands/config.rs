//! `config show`, `localconfvalue`, `remoteconfvalue`.

use ringstorm_conf::Conf;
use ringstorm_records::nimbus::GetNimbusConf;
use ringstorm_types::config::{Config, ConfigError, Origin, check_keys, is_secret, known_key};
use serde_json::{Map, Value, json};

use crate::asking::ask;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::Side::Left;
use crate::table::Table;

/// In the place of a secret.
const HIDDEN: &str = "(hidden)";

/// `config show`: every value and where it came from.
pub(crate) fn show(conf: &Conf, only_set: bool, json: bool) -> Result<Status, Failure> {
    let shown = conf.config().iter().filter(|(_, _, origin)| !only_set || **origin != Origin::DEFAULT);
    if json {
        let values: Vec<Value> = shown
            .map(|(key, value, origin)| json!({ "key": key, "value": visible(key, value), "origin": origin.as_str() }))
            .collect();
        let looked_at: Vec<String> = conf.looked_at().iter().map(|path| path.display().to_string()).collect();
        let notes: Vec<String> = conf.notes().iter().map(ToString::to_string).collect();
        let file = conf.file().map(|path| path.display().to_string());
        output::print_json(&json!({ "file": file, "lookedAt": looked_at, "values": values, "notes": notes }))?;
        return Ok(Status::Done);
    }
    let mut table = Table::new(&[("KEY", Left), ("VALUE", Left), ("SET BY", Left)]);
    for (key, value, origin) in shown {
        table.row([key.to_owned(), visible(key, value).to_string(), origin.to_string()]);
    }
    let mut text = match conf.file() {
        Some(path) => format!("File: {}\n\n", path.display()),
        None => {
            let places: Vec<String> = conf.looked_at().iter().map(|path| path.display().to_string()).collect();
            format!("No file: there is none at {}\n\n", places.join(", "))
        }
    };
    text.push_str(&table.text());
    output::print(&text)?;
    Ok(Status::Done)
}

fn visible(key: &str, value: &Value) -> Value {
    if is_secret(key) && !value.is_null() { json!(HIDDEN) } else { value.clone() }
}

/// `localconfvalue`.
pub(crate) fn local_value(conf: &Conf, key: &str, json: bool) -> Result<Status, Failure> {
    print_value(key, conf.config().get(key), json)
}

/// What to say of a key that nobody has set and that nobody knows.
fn unknown(key: &str) -> Failure {
    let mut config = Config::new();
    config.set(key, Value::Null, Origin::COMMAND_LINE);
    let why = match check_keys(&config) {
        Ok(_) => format!(
            "{key} is not a key that is known, and nobody has set it; `ringstorm config show` shows those that are set"
        ),
        Err(errors) => match errors.0.first() {
            Some(ConfigError::Misspelled { known, .. }) => format!("{key:?} is not a key; did you mean {known:?}?"),
            Some(ConfigError::Unknown { hint, .. }) => format!("{key:?} is not a key of Ringstorm; {hint}"),
            _ => errors.to_string(),
        },
    };
    Failure::usage(why)
}

/// `remoteconfvalue`: of the nimbus that leads, or of another one. Storm's command reads the file of the host instead.
pub(crate) fn remote_value(conf: &Conf, key: &str, json: bool) -> Result<Status, Failure> {
    let text = ask(conf, &GetNimbusConf {})?;
    let settings: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("nimbus answers with a configuration that is no JSON: {error}")))?;
    print_value(key, settings.get(key), json)
}

/// Prints as Storm's commands do: texts without quotes, null for a key that is not set. One that there is not is refused.
fn print_value(key: &str, value: Option<&Value>, json: bool) -> Result<Status, Failure> {
    if value.is_none() && known_key(key).is_none() {
        return Err(unknown(key));
    }
    let value = visible(key, value.unwrap_or(&Value::Null));
    if json {
        output::print_json(&json!({ "key": key, "value": value }))?;
    } else {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        output::print(&format!("{key}: {text}\n"))?;
    }
    Ok(Status::Done)
}
