//! Storm's defaults, as the configuration that everything else is laid over.
//!
//! Threading: made once, then read. Errors: none; a test reads the file.

use std::sync::LazyLock;

use ringstorm_types::config::{Config, Origin};
use serde_json::Value;

use crate::yaml;

/// The defaults, all with [`Origin::DEFAULT`].
pub(crate) static DEFAULTS: LazyLock<Config> = LazyLock::new(|| {
    let mapping = yaml::mapping(include_str!("defaults.yaml")).expect("the file is our own, and a test reads it");
    let members = mapping.into_iter().map(|entry| (entry.key, entry.value)).collect();
    Config::from_json(Value::Object(members), &Origin::DEFAULT).expect("it is an object")
});
