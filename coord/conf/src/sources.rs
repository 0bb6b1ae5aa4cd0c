//! Where settings come from: which file, which environment, which words of the command line.
//!
//! Storm's order for the file, which this keeps: what `--config` names; else, for a command, `~/.storm/storm.yaml` if there is
//! one; else `storm.yaml` in `$STORM_CONF_DIR`; or, where that is not set, in `$STORM_HOME/conf`, or in `/etc/storm`. Where
//! there is none, the defaults hold.
//! Source: `bin/storm.py` of Storm 2.8.2 (`init_storm_env`), and where packages of Storm put the file.
//!
//! Threading: plain data; [`ConfSources::of_process`] alone reads the environment. Errors: of whoever reads the files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The name of Storm's file.
const FILE: &str = "storm.yaml";
/// Where the file is, if nothing says it.
const SYSTEM_FOLDER: &str = "/etc/storm";
/// Names the folder of the file, as in Storm.
pub const STORM_CONF_DIR: &str = "STORM_CONF_DIR";
/// Names the folder that Storm is installed in; relative paths of settings start there.
pub const STORM_HOME: &str = "STORM_HOME";
/// Holds settings as a JSON object of keys and values. Ringstorm's own.
pub const RINGSTORM_CONF: &str = "RINGSTORM_CONF";

/// Who asks for the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A command of a person: a file in the home folder goes first, as in Storm.
    Client,
    /// A daemon: it has the file of its host, whoever starts it.
    Daemon,
}

/// Everything that a configuration is made of. Later ones go over earlier ones: the file, the environment, the settings of
/// the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfSources {
    /// Who asks.
    pub role: Role,
    /// `--config`: a file, or the name of one in the folder where `storm.yaml` is looked for.
    pub file: Option<PathBuf>,
    /// `-c key=value`, in their order.
    pub settings: Vec<String>,
    /// The variables of the environment that are read: `STORM_CONF_DIR`, `STORM_HOME`, `RINGSTORM_CONF`, `HOME`, `USER`,
    /// `LOGNAME`. Others may be there.
    pub environment: BTreeMap<String, OsString>,
    /// The folder that relative paths start from where `STORM_HOME` is not set.
    pub current_folder: PathBuf,
    /// Where the file is, if nothing says it: `/etc/storm`.
    pub system_folder: PathBuf,
}

impl ConfSources {
    /// No file, no environment, no settings: Storm's defaults.
    pub fn none(role: Role) -> Self {
        Self {
            role,
            file: None,
            settings: Vec::new(),
            environment: BTreeMap::new(),
            current_folder: PathBuf::from("/"),
            system_folder: PathBuf::from(SYSTEM_FOLDER),
        }
    }

    /// The sources of this process, with what its command line says. Variables that are no UTF-8 in their names are none
    /// of ours.
    pub fn of_process(role: Role, file: Option<PathBuf>, settings: Vec<String>) -> Self {
        let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let environment = environment.filter(|(name, _)| READ.contains(&name.as_str())).collect();
        let current_folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self { file, settings, environment, current_folder, ..Self::none(role) }
    }

    /// The variable as a path, unless it is empty.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The folder that relative paths of settings start from: `$STORM_HOME`, or the current one.
    pub fn base(&self) -> PathBuf {
        self.path(STORM_HOME).unwrap_or_else(|| self.current_folder.clone())
    }

    /// The user that the process says it runs as.
    pub(crate) fn user(&self) -> Option<String> {
        ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| self.environment.get(*name)?.clone().into_string().ok().filter(|user| !user.is_empty()))
    }

    /// The files to look for, in order, and whether each must be there, with who says so.
    pub(crate) fn places(&self) -> Vec<Place> {
        let (folder, by) = match (self.path(STORM_CONF_DIR), self.path(STORM_HOME)) {
            (Some(folder), _) => (folder, Some("$STORM_CONF_DIR")),
            (None, Some(home)) => (home.join("conf"), None),
            (None, None) => (self.system_folder.clone(), None),
        };
        if let Some(file) = &self.file {
            let here = self.current_folder.join(file);
            let is_name = file.components().count() == 1 && file.is_relative();
            let mut places = vec![Place { path: here, required_by: None }];
            if is_name {
                places.push(Place { path: folder.join(file), required_by: None });
            }
            let last = places.len() - 1;
            places[last].required_by = Some("--config");
            return places;
        }
        let home = self.path("HOME").filter(|_| self.role == Role::Client);
        let mut places: Vec<Place> =
            home.map(|home| Place { path: home.join(".storm").join(FILE), required_by: None }).into_iter().collect();
        places.push(Place { path: folder.join(FILE), required_by: by });
        places
    }
}

/// The variables that are read.
const READ: &[&str] = &[STORM_CONF_DIR, STORM_HOME, RINGSTORM_CONF, "HOME", "USER", "LOGNAME"];

/// A file to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub(crate) path: PathBuf,
    /// Who says that it is there, if somebody does.
    pub(crate) required_by: Option<&'static str>,
}
