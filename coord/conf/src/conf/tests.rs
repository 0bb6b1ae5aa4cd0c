//! The whole configuration: places, order, origins, near misses, values.

use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use ringstorm_nimbus::NimbusSettings as Nimbus;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A world of files: a home folder, `$STORM_HOME`, a folder of the system, a current folder.
struct World {
    folder: TempDir,
    sources: ConfSources,
}

impl World {
    fn new(role: Role) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let mut sources = ConfSources::none(role);
        sources.environment.insert("HOME".into(), at("home").into());
        sources.current_folder = at("here");
        sources.system_folder = at("etc/storm");
        Self { folder, sources }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn set(&mut self, name: &str, folder: &str) {
        self.sources.environment.insert(name.into(), self.folder.path().join(folder).into());
    }

    fn port(&self) -> u16 {
        self.conf().nimbus_thrift_port()
    }

    fn conf(&self) -> Conf {
        Conf::find(&self.sources).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(&self) -> String {
        Conf::find(&self.sources).map(|_| panic!("it is accepted")).unwrap_err().to_string()
    }
}

fn with_settings(settings: &[&str]) -> World {
    let mut world = World::new(Role::Client);
    world.sources.settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    world
}

#[test]
fn without_a_file_storms_defaults_hold() {
    let world = World::new(Role::Daemon);
    let conf = world.conf();
    assert_eq!(conf.file(), None);
    assert_eq!(conf.looked_at(), [world.folder.path().join("etc/storm/storm.yaml")]);
    assert_eq!(conf.nimbus_seeds(), [NimbusAddress::new("localhost", 6627, 0).unwrap()]);
    assert_eq!(conf.slot_ports(), [6700, 6701, 6702, 6703].into());
    assert_eq!(conf.zookeeper_settings(), ringstorm_zookeeper::Settings::of_servers(vec!["localhost:2181".into()]));
    assert_eq!(conf.zookeeper_root().as_str(), "/storm");
    assert_eq!(conf.bind_address().to_string(), "0.0.0.0");
    assert!(!conf.local_hostname().is_empty());
    assert_eq!(conf.local_dir(), world.folder.path().join("here/storm-local"));
    assert_eq!(conf.workers_artifacts_dir(), world.folder.path().join("here/logs/workers-artifacts"));
}

#[test]
fn defaults_are_those_of_the_machines() {
    let conf = World::new(Role::Daemon).conf();
    assert_eq!(conf.supervisor_settings(), ringstorm_supervisor::Settings::default());
    let (client, default) = (conf.client_settings(), ClientSettings::default());
    let default = ClientSettings { seeds: client.seeds.clone(), ..default };
    assert_eq!(format!("{client:?}"), format!("{default:?}"));
    let (nimbus, default) = (conf.nimbus_settings(), Nimbus::default());
    assert_eq!(format!("{:?}", nimbus.beats), format!("{:?}", default.beats));
    assert_eq!(
        (nimbus.monitor_period, nimbus.code_sync_period, nimbus.deletion_delay),
        (default.monitor_period, default.code_sync_period, default.deletion_delay)
    );
    assert_eq!(Value::Object(nimbus.conf), Value::Object(conf.json()));
}

#[test]
fn every_default_is_a_key_that_acts() {
    for (key, value, origin) in DEFAULTS.iter() {
        let known = known_key(key).unwrap_or_else(|| panic!("{key} is not known"));
        // It has an effect where it is not 0, and nobody should set it.
        let is_apart = key == "topology.eventlogger.executors";
        assert!(is_apart || matches!(known.class, KeyClass::Supported | KeyClass::Cluster), "{key} has no effect");
        assert!(!value.is_null() && *origin == Origin::DEFAULT, "{key}");
    }
}

#[test]
fn the_file_is_found_where_storm_finds_it() {
    let mut world = World::new(Role::Client);
    world.write("etc/storm/storm.yaml", "nimbus.thrift.port: 1\n");
    assert_eq!(world.port(), 1);
    world.write("opt/storm/conf/storm.yaml", "nimbus.thrift.port: 2\n");
    world.set("STORM_HOME", "opt/storm");
    assert_eq!(world.port(), 2);
    world.write("conf/storm.yaml", "nimbus.thrift.port: 3\n");
    world.set("STORM_CONF_DIR", "conf");
    assert_eq!(world.port(), 3);
    let own = world.write("home/.storm/storm.yaml", "nimbus.thrift.port: 4\n");
    assert_eq!(world.port(), 4);
    assert_eq!(world.conf().file(), Some(own.as_path()));
    world.sources.role = Role::Daemon;
    assert_eq!(world.port(), 3, "a daemon has no home");
    world.write("here/other.yaml", "nimbus.thrift.port: 5\n");
    world.sources.file = Some("other.yaml".into());
    assert_eq!(world.port(), 5);
    world.write("conf/third.yaml", "nimbus.thrift.port: 6\n");
    world.sources.file = Some("third.yaml".into());
    assert_eq!(world.port(), 6, "a bare name is looked for beside storm.yaml too");
}

#[test]
fn a_file_that_is_named_and_not_there_is_an_error() {
    let mut world = World::new(Role::Client);
    world.set("STORM_CONF_DIR", "nowhere");
    let error = world.refused();
    assert!(error.contains("nowhere/storm.yaml cannot be read") && error.contains("$STORM_CONF_DIR says"), "{error}");
    world.sources.file = Some("gone.yaml".into());
    let error = world.refused();
    assert!(error.contains("gone.yaml cannot be read") && error.contains("--config says"), "{error}");
    world.write("here/folder.yaml/inner", "");
    world.sources.file = Some("folder.yaml".into());
    assert!(world.refused().contains("make it a file that this user may read"));
}

#[test]
fn what_is_there_and_is_no_file_is_an_error_wherever_it_is_looked_for() {
    use std::os::unix::fs::symlink;
    let mut world = World::new(Role::Client);
    let own = world.folder.path().join("home/.storm/storm.yaml");
    world.write("home/.storm/other", "");
    symlink("nowhere", &own).unwrap();
    let error = world.refused();
    assert!(error.contains("/.storm/storm.yaml cannot be read: it is a link that leads nowhere"), "{error}");
    let here = world.folder.path().join("here");
    symlink("circle", here.join("circle")).unwrap();
    let _socket = std::os::unix::net::UnixDatagram::bind(here.join("socket")).unwrap();
    for (name, what) in [("circle", "a link that leads back to itself"), ("socket", "a socket")] {
        world.sources.file = Some(name.into());
        let error = Conf::find(&world.sources).map(|_| panic!("it is accepted")).unwrap_err();
        assert!(error.to_string().contains(&format!("it is {what}, not a file")), "{error}");
        assert!(error.is_of_command_line(), "{error}");
    }
}

#[test]
fn later_sources_go_over_earlier_ones_and_each_value_knows_its_own() {
    let mut world = with_settings(&["nimbus.monitor.freq.secs=3"]);
    let path = world.write(
        "etc/storm/storm.yaml",
        "\nnimbus.thrift.port: 7000\nnimbus.monitor.freq.secs: 1\nnimbus.task.timeout.secs: 1\nmy.own: [a]\n",
    );
    let json = r#"{"nimbus.monitor.freq.secs": 2, "nimbus.task.timeout.secs": 2}"#;
    world.sources.environment.insert("RINGSTORM_CONF".into(), json.into());
    let conf = world.conf();
    let seen = |key: &str| (conf.config().get(key).unwrap().clone(), conf.config().origin(key).unwrap().to_string());
    assert_eq!(seen("nimbus.monitor.freq.secs"), (json!(3), "the command line".into()));
    assert_eq!(seen("nimbus.task.timeout.secs"), (json!(2), "the environment variable RINGSTORM_CONF".into()));
    assert_eq!(seen("nimbus.thrift.port"), (json!(7000), format!("file {path:?}, line 2")));
    assert_eq!(seen("my.own"), (json!(["a"]), format!("file {path:?}, line 5")));
    assert_eq!(seen("nimbus.task.launch.secs"), (json!(120), "the defaults".into()));
    assert_eq!(conf.nimbus_settings().monitor_period, Duration::from_secs(3));
}

#[test]
fn near_misses_are_refused_with_what_was_meant() {
    let world = World::new(Role::Daemon);
    world.write("etc/storm/storm.yaml", "nimbus.seed: [\"a\"]\nsupervisor.slot.ports: [1]\n");
    let error = world.refused();
    assert!(error.contains("did you mean \"nimbus.seeds\"?") && error.contains("storm.yaml\", line 1"), "{error}");
    assert!(error.contains("did you mean \"supervisor.slots.ports\"?"), "{error}");
}

#[test]
fn nested_keys_are_refused_with_the_key_that_was_meant() {
    let world = World::new(Role::Daemon);
    world.write("etc/storm/storm.yaml", "nimbus:\n  seeds: [\"a\"]\n");
    assert!(world.refused().contains("write \"nimbus.seeds: ...\""));
    world.write("etc/storm/storm.yaml", "mine:\n  seeds: [\"a\"]\n");
    world.conf();
}

#[test]
fn keys_that_have_no_effect_are_named_with_the_reason() {
    let world = with_settings(&["nimbus.childopts=-Xmx1g", "ui.port=8080", "topology.workers=2"]);
    let notes: Vec<String> = world.conf().notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("nimbus.childopts has no effect, because it configures a Java virtual machine"));
    assert!(notes[1].starts_with("ui.port has no effect, because there is no web interface"));
}

#[test]
fn every_value_that_cannot_be_used_is_named_at_once() {
    let wrong = [
        ("nimbus.thrift.port=0", "a port from 1 to 65535"),
        ("nimbus.seeds=localhost", "a list of host names"),
        ("nimbus.seeds=[\"a:0\"]", "a list of host names"),
        ("nimbus.monitor.freq.secs=0", "a number from 0.001"),
        ("supervisor.slots.ports=[1, 1]", "a list of ports from 1 to 65535, each once"),
        ("supervisor.slots.ports=[70000]", "a list of ports"),
        ("supervisor.resources.map={\"gpu\": \"two\"}", "a map of names to numbers"),
        ("ringstorm.bind.address=eth0", "an address such as"),
        ("storm.local.dir=5", "a text that is not empty"),
        ("storm.local.hostname=a/b", "the name or address of a host"),
        ("storm.nimbus.retry.times=-1", "a whole number from 0"),
        ("topology.debug=perhaps", "true or false"),
    ];
    for (setting, wanted) in wrong {
        let error = with_settings(&[setting]).refused();
        assert!(error.contains(wanted) && error.contains("(set by the command line)"), "{setting}: {error}");
    }
    let all: Vec<&str> = wrong
        .iter()
        .map(|(setting, _)| *setting)
        .filter(|text| !text.contains("[1, 1]") && !text.contains("a:0"))
        .collect();
    assert_eq!(with_settings(&all).refused().lines().count(), wrong.len() - 2);
    let zookeeper = with_settings(&["storm.zookeeper.servers=[\"a:2181\"]"]).refused();
    assert!(zookeeper.contains("storm.zookeeper.servers (set by the command line) is not a list of host names"));
}

#[test]
fn bad_yaml_costs_one_error_with_file_and_line() {
    let world = World::new(Role::Daemon);
    let path = world.write("etc/storm/storm.yaml", "nimbus.thrift.port: 6627\n  nimbus.seeds: [\"a\"]\n");
    let error = world.refused();
    assert!(error.starts_with(&format!("{}, line 2, column ", path.display())), "{error}");
    assert_eq!(error.lines().count(), 1);
    fs::write(&path, b"a: \xff\xfe").unwrap();
    assert!(world.refused().contains("cannot be read"));
}

#[test]
fn seeds_may_have_ports_of_their_own() {
    let seeds = with_settings(&["nimbus.seeds=[\"n1\", \"n2:7000\", \"::1\", \"[::1]:7001\"]"]).conf().nimbus_seeds();
    let seeds: Vec<_> = seeds.iter().map(|seed| (seed.host(), seed.port())).collect();
    assert_eq!(seeds, [("n1", 6627), ("n2", 7000), ("::1", 6627), ("::1", 7001)]);
    let has_peers = |seeds: &str| with_settings(&[&format!("nimbus.seeds={seeds}")]).conf().nimbus_settings().has_peers;
    assert!(has_peers(r#"["n1", "n2"]"#) && !has_peers(r#"["n1"]"#));
}

#[test]
fn relative_paths_start_at_storms_home() {
    let mut world = with_settings(&["storm.log.dir=log"]);
    world.set("STORM_HOME", "opt/storm");
    let conf = world.conf();
    let home = world.folder.path().join("opt/storm");
    assert_eq!(conf.local_dir(), home.join("storm-local"));
    assert_eq!(conf.log_dir(), home.join("log"));
    assert_eq!(conf.workers_artifacts_dir(), home.join("log/workers-artifacts"));
    world.sources.settings = vec!["storm.workers.artifacts.dir=/var/log/workers".into()];
    assert_eq!(world.conf().workers_artifacts_dir(), PathBuf::from("/var/log/workers"));
}

#[test]
fn a_topologys_own_keys_pass_through_what_is_handed_over() {
    let conf = with_settings(&["nimbus.seeds=[\"n1\"]", "my.key={\"a\": 1}"]).conf();
    let mut json = conf.json();
    json.insert("topology.worker".into(), json!("the topology's own, and none of ours"));
    let handed = Conf::from_json(json.clone()).unwrap();
    assert_eq!(handed.nimbus_seeds(), conf.nimbus_seeds());
    assert_eq!(handed.local_dir(), conf.local_dir());
    assert_eq!(Value::Object(handed.json()), Value::Object(json));
    let wrong = Conf::from_json([("nimbus.thrift.port".to_owned(), json!("x"))].into_iter().collect());
    assert!(wrong.unwrap_err().to_string().contains("set by the configuration that was handed over"));
}

#[test]
fn secrets_are_not_shown() {
    let world = with_settings(&["storm.zookeeper.auth.payload=[\"hunter2\"]", "storm.zookeeper.auth.scheme=digest"]);
    let error = world.refused();
    assert!(!error.contains("hunter2"), "{error}");
}

proptest! {
    #[test]
    fn whatever_a_file_says_costs_an_error_at_most(
        key in "(nimbus|storm|supervisor|topology)\\.[a-z.]{1,20}|[a-z.]{1,10}",
        value in "[ -~]{0,30}",
    ) {
        let world = World::new(Role::Daemon);
        world.write("etc/storm/storm.yaml", &format!("{key}: {value}\n"));
        let _ = Conf::find(&world.sources);
    }

    #[test]
    fn what_is_found_can_be_handed_over(port in 1_u16.., seconds in 1_u32..1000, own in "[a-z]{3,9}") {
        let settings = [
            format!("nimbus.thrift.port={port}"),
            format!("nimbus.monitor.freq.secs={seconds}"),
            format!("my.{own}=[{seconds}]"),
        ];
        let conf = with_settings(&settings.each_ref().map(String::as_str)).conf();
        let handed = Conf::from_json(conf.json()).unwrap();
        prop_assert_eq!(handed.json(), conf.json());
        prop_assert_eq!(handed.nimbus_thrift_port(), port);
    }
}
