//! Storm's cluster state.

use ringstorm_records::payload::{self, NimbusAddress};
use ringstorm_records::records::{
    ClusterWorkerHeartbeat, Credentials, ErrorInfo, LogConfig, NimbusSummary, NodeInfo, ProfileAction, ProfileRequest,
    StormBase, SupervisorInfo,
};
use ringstorm_records::znode::{BlobHolder, ComponentName, Node, ProfileTarget, Slot};
use ringstorm_store::cluster::{Announced, ERRORS_KEPT, FOLDERS, Reading, RootUse, Trouble};
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::outcome::Condition;

use crate::election::{address, base, create_base, leader, name};
use crate::worlds::{World, open_to_all};

pub(crate) fn folders_are_made_once_and_stay<W: World>(world: &W) {
    let mut client = world.client(None);
    for _ in 0..2 {
        client.tree(&world.cluster(), |tree| async move { tree.prepare().await }).unwrap();
        let all = client.tree(&world.cluster(), |tree| async move { tree.nodes(&Node::Root {}, false).await }).unwrap();
        let mut expected = FOLDERS.to_vec();
        let mut found = all.found;
        expected.sort();
        found.sort();
        assert_eq!((found, all.skipped), (expected, Vec::new()));
    }
    let path = client.path("/storms");
    let ringstorm_store::operation::Answer::Data { data, stat } = client.done(Operation::Get { path, watch: false })
    else {
        panic!()
    };
    assert_eq!((data.as_slice(), stat.version), (&[7][..], 0));
}

pub(crate) fn a_base_is_written_changed_and_removed_with_all_that_belongs_to_the_topology<W: World>(world: &W) {
    let cluster = world.cluster();
    let mut client = world.client(None);
    let leadership = leader(world, &mut client);
    let words = name("words");
    let (topology, leader) = (words.clone(), leadership.clone());
    let nothing = client.tree(&cluster, |tree| async move {
        let change = |base: &StormBase| Some(base.clone());
        let changed = tree.change_storm_base(&leader, &topology, change).await?;
        Ok((tree.topologies(true).await?.found, tree.storm_base(&topology, true).await?, changed))
    });
    assert_eq!(nothing, Ok((Vec::new(), Reading::Absent, Reading::Absent)));
    create_base(world, &mut client, &leadership).unwrap();
    // The watches on what was not there yet see it come.
    let mut seen: Vec<_> = (0..2).map(|_| format!("{:?}", client.event())).collect();
    seen.sort();
    assert!(seen[0].contains("storms, kind: Node") && seen[1].contains("words, kind: Node"), "{seen:?}");
    let (topology, leader) = (words.clone(), leadership.clone());
    let reading = client.tree(&cluster, |tree| async move {
        let change = |base: &StormBase| Some(StormBase { num_workers: base.num_workers + 3, ..base.clone() });
        let changed = tree.change_storm_base(&leader, &topology, change).await?;
        assert_eq!(tree.change_storm_base(&leader, &topology, |_| None).await?, changed);
        tree.set_credentials(&leader, &topology, &Credentials::default()).await?;
        tree.set_log_config(&leader, &topology, &LogConfig::default()).await?;
        tree.storm_base(&topology, false).await
    });
    let Ok(Reading::Found { value, stat }) = reading else { panic!("{reading:?}") };
    assert_eq!((value, stat.version), (StormBase { num_workers: 5, ..base("words") }, 1));
    let topology = words.clone();
    let left = client.tree(&cluster, |tree| async move {
        tree.remove_topology(&leadership, &topology).await?;
        tree.remove_topology(&leadership, &topology).await?;
        let is_there = [
            tree.storm_base(&topology, false).await?.is_there(),
            tree.credentials(&topology, false).await?.is_there(),
            tree.log_config(&topology, false).await?.is_there(),
        ];
        Ok(is_there)
    });
    assert_eq!(left, Ok([false; 3]));
}

pub(crate) fn the_newest_ten_errors_stay_when_their_writer_is_gone<W: World>(world: &W) {
    let cluster = world.cluster();
    let (words, count) = (name("words"), ComponentName::new("count & sum").unwrap());
    let error =
        |index: i32| ErrorInfo { error: format!("error {index}"), error_time_secs: index / 2, ..ErrorInfo::default() };
    let mut worker = world.client(None);
    let (topology, component) = (words.clone(), count.clone());
    let reported = worker.tree(&cluster, |tree| async move {
        for index in 0..14 {
            tree.report_error(&topology, &component, &error(index)).await?;
        }
        Ok(())
    });
    assert_eq!(reported, Ok(()));
    let odd = worker.create("/errors/words/count+%26+sum/oddity", CreateMode::Persistent);
    drop(worker);
    let mut reader = world.client(None);
    let errors = reader.tree(&cluster, |tree| async move {
        let errors = tree.errors(&words, &count).await?;
        Ok((errors, tree.last_error(&words, &count).await?.value(), tree.components_with_errors(&words).await?.found))
    });
    let (errors, last, components) = errors.unwrap();
    let newest: Vec<_> = (4..14).rev().map(error).collect();
    assert_eq!((errors.found.len(), errors.found), (ERRORS_KEPT, newest));
    assert_eq!(errors.skipped.into_iter().map(|skipped| skipped.path).collect::<Vec<_>>(), [odd]);
    assert_eq!((last, components), (Some(error(13)), vec![ComponentName::new("count & sum").unwrap()]));
}

pub(crate) fn garbage_is_named_and_left_alone<W: World>(world: &W) {
    let cluster = world.cluster();
    let mut client = world.client(None);
    client.tree(&cluster, |tree| async move { tree.prepare().await }).unwrap();
    let info = SupervisorInfo { hostname: "a".into(), version: Some("2.8.2-ringstorm.0".into()), ..Default::default() };
    let supervisors = client.path("/supervisors");
    for (id, data) in [
        ("good", payload::encode(&info)),
        ("empty", Vec::new()),
        ("cut", payload::encode(&info)[..20].to_vec()),
        ("noise", vec![0xff; 100]),
    ] {
        let path = supervisors.child(&name(id));
        client.done(Operation::create(path, data, CreateMode::Persistent, open_to_all()));
    }
    client.create("/workerbeats/words", CreateMode::Persistent);
    client.create("/workerbeats/words/no-slot", CreateMode::Persistent);
    let before = client.tree(&cluster, |tree| async move {
        assert_eq!(tree.worker_beats(&name("words")).await?.skipped.len(), 1);
        tree.supervisors(false).await
    });
    let listing = before.unwrap();
    assert_eq!(listing.found, [(name("good"), info)]);
    let mut skipped: Vec<_> = listing.skipped.iter().map(|skipped| skipped.path.name()).collect();
    skipped.sort_unstable();
    assert_eq!(skipped, ["cut", "empty", "noise"]);
    assert!(listing.skipped.iter().all(|skipped| !skipped.why.is_empty()));
    for id in ["cut", "empty", "noise"] {
        assert!(client.exists(&format!("/supervisors/{id}"), false));
    }
    // A folder that cannot be read is not an empty one.
    let path = client.path("/assignments");
    let acl = [ringstorm_store::acl::Acl {
        rights: ringstorm_store::acl::Rights::ADMIN,
        ..ringstorm_store::acl::Acl::anyone()
    }];
    client.done(Operation::SetAcl { path: path.clone(), acl: acl.into(), version: None });
    let failed = client.tree(&cluster, |tree| async move { tree.assignments(false).await });
    assert_eq!(failed, Err(Trouble::Failed { path, condition: Condition::NoAuth }));
}

pub(crate) fn a_root_of_apache_storm_is_recognised_and_left_untouched<W: World>(world: &W) {
    let cluster = world.cluster();
    let mut client = world.client(None);
    let look = |client: &mut crate::worlds::Client<W>| {
        client.tree(&world.cluster(), |tree| async move { tree.root_use().await }).unwrap()
    };
    assert_eq!(look(&mut client), RootUse::Ours { skipped: Vec::new() });
    assert!(!client.exists("/nimbuses", false), "looking makes nothing");
    client.tree(&cluster, |tree| async move { tree.prepare().await }).unwrap();
    let nimbus = |version: &str| NimbusSummary { host: "a".into(), version: version.into(), ..Default::default() };
    let session = client.session;
    let announced = client.tree(&cluster, move |tree| async move {
        tree.announce_nimbus(session, &name("ours"), &nimbus("2.8.2-ringstorm.0.1.0"), None).await
    });
    assert_eq!(announced, Ok(Announced::Ours));
    client.create("/supervisors/noise", CreateMode::Ephemeral);
    let RootUse::Ours { skipped } = look(&mut client) else { panic!() };
    assert_eq!(skipped.len(), 1);
    let storms = SupervisorInfo { hostname: "a".into(), version: Some("2.8.2".into()), ..Default::default() };
    let older = SupervisorInfo { hostname: "a".into(), ..Default::default() };
    for (below, data, words) in [
        ("/nimbuses/storms", payload::encode(&nimbus("2.8.2")), "2.8.2"),
        ("/supervisors/storms", payload::encode(&storms), "2.8.2"),
        ("/supervisors/older", payload::encode(&older), "not set"),
        ("/supervisors/newer", vec![0x28, 0xb5, 0x2f, 0xfd, 0], "zstd"),
        ("/supervisors/oldest", vec![0xac, 0xed, 0, 5], "Java"),
    ] {
        let path = client.path(below);
        client.done(Operation::create(path.clone(), data, CreateMode::Ephemeral, open_to_all()));
        let RootUse::ApacheStorm { path: found, sign } = look(&mut client) else { panic!("{below}") };
        assert!(found == path && sign.contains(words), "{found} {sign}");
        client.done(Operation::delete(path));
    }
}

pub(crate) fn who_lives_is_known_by_its_session<W: World>(world: &W) {
    let cluster = world.cluster();
    let (mut first, mut second, mut third) = (world.client(None), world.client(None), world.client(None));
    let info = |host: &str| SupervisorInfo { hostname: host.into(), ..Default::default() };
    let announce = |client: &mut crate::worlds::Client<W>, host: &str, replaces| {
        let (session, info) = (client.session, info(host));
        client
            .tree(&world.cluster(), move |tree| async move {
                tree.announce_supervisor(session, &name("id"), &info, replaces).await
            })
            .unwrap()
    };
    assert_eq!(announce(&mut first, "a", None), Announced::Ours);
    assert_eq!(announce(&mut first, "a2", None), Announced::Ours);
    // Somebody else with the same id does not get in between, and learns who is there.
    let Announced::Held { record, stat } = announce(&mut second, "b", Some(third.session)) else { panic!() };
    assert_eq!((record.value(), stat.owner), (Some(info("a2")), Some(first.session)));
    // The same one after a restart may replace what its earlier session left.
    assert_eq!(announce(&mut second, "a3", Some(first.session)), Announced::Ours);
    drop(first);
    third.done(Operation::Sync { path: third.path("") });
    let lives = third.tree(&cluster, |tree| async move { tree.supervisors(false).await }).unwrap();
    assert_eq!(lives.found, [(name("id"), info("a3"))], "it goes with the session that announced it last");
    drop(second);
    third.wait_until("/supervisors/id", false);
}

pub(crate) fn blobs_have_holders_and_numbers<W: World>(world: &W) {
    let cluster = world.cluster();
    let mut client = world.client(None);
    let leadership = leader(world, &mut client);
    let (key, session) = (name("words-stormjar.jar"), client.session);
    let held = |nimbus: &NimbusAddress, version| BlobHolder { nimbus: nimbus.clone(), version };
    let leader = leadership.clone();
    let result = client.tree(&cluster, move |tree| async move {
        let (one, two) = (address("one"), address("two"));
        let first = tree.number_blob(&key, &one, Some(&leader)).await?;
        tree.hold_blob(session, &key, &held(&one, 1)).await?;
        tree.hold_blob(session, &key, &held(&two, 1)).await?;
        let second = tree.number_blob(&key, &one, Some(&leader)).await?;
        tree.hold_blob(session, &key, &held(&one, 2)).await?;
        // The same once more, as after an unknown outcome.
        tree.hold_blob(session, &key, &held(&one, 2)).await?;
        let mut holders = tree.blob_holders(&key, false).await?.found;
        holders.sort();
        assert_eq!(holders, [held(&one, 2), held(&two, 1)]);
        assert_eq!(tree.blob_keys(false).await?.found, std::slice::from_ref(&key));
        assert_eq!(tree.blob_highest(&key).await?.value(), Some(2));
        tree.release_blob(&key, &two).await?;
        assert_eq!(tree.blob_holders(&key, false).await?.found.len(), 1);
        tree.remove_blob(&leader, &key).await?;
        assert!(!tree.blob_highest(&key).await?.is_there());
        Ok((first, second, tree.blob_keys(false).await?.found))
    });
    assert_eq!(result, Ok((1, 2, Vec::new())));
}

pub(crate) fn remains_are_removed_also_while_somebody_writes<W: World>(world: &W) {
    let cluster = world.cluster();
    let (mut client, mut worker) = (world.client(None), world.client(None));
    let leadership = leader(world, &mut client);
    let (words, leader) = (name("words"), leadership.clone());
    let topology = words.clone();
    client.tree(&cluster, |tree| async move { tree.set_up_workers(&leader, &topology).await }).unwrap();
    let topology = words.clone();
    let written = worker.tree(&cluster, |tree| async move {
        for port in 6700..6750 {
            let slot = Slot { supervisor: name("id"), port };
            tree.set_worker_beat(&topology, &slot, &ClusterWorkerHeartbeat::default()).await?;
            let component = ComponentName::new(&format!("component-{port}")).unwrap();
            tree.report_error(&topology, &component, &ErrorInfo::default()).await?;
        }
        assert_eq!(tree.worker_beats(&topology).await?.found.len(), 50);
        tree.remove_worker_beat(&topology, &Slot { supervisor: name("id"), port: 6700 }).await?;
        Ok(tree.worker_beats(&topology).await?.found.len())
    });
    assert_eq!(written, Ok(49));
    // Between two steps of the removal a worker writes again.
    let topology = words.clone();
    let mut removal =
        cluster.procedure(|tree| async move { tree.remove_remains(&leadership, &topology).await.map(drop) });
    let mut step = removal.begin();
    let mut beats = 0;
    let removed = loop {
        match step {
            ringstorm_store::procedure::Step::Done(result) => break result,
            ringstorm_store::procedure::Step::Ask(operations) => {
                let outcomes = operations.into_iter().map(|operation| client.ask(operation)).collect();
                if beats < 3 {
                    beats += 1;
                    let topology = words.clone();
                    let slot = Slot { supervisor: name("late"), port: 6700 };
                    worker
                        .tree(&cluster, |tree| async move {
                            tree.set_worker_beat(&topology, &slot, &ClusterWorkerHeartbeat::default()).await
                        })
                        .unwrap();
                }
                step = removal.resume(outcomes);
            }
        }
    };
    assert_eq!(removed, Ok(()));
    let remains = client.tree(&cluster, |tree| async move { tree.topologies_with_remains().await }).unwrap();
    assert_eq!(remains.found, []);
}

pub(crate) fn profile_requests_and_credentials_come_back<W: World>(world: &W) {
    let cluster = world.cluster();
    let mut client = world.client(None);
    let leader = leader(world, &mut client);
    let target = ProfileTarget { host: name("a"), port: 6700, action: ProfileAction::JstackDump };
    let node_info = NodeInfo { node: "a".into(), port: [6700].into() };
    let request = ProfileRequest { node_info, action: ProfileAction::JstackDump, time_stamp: Some(7) };
    let credentials = Credentials { creds: [("key".into(), "secret".into())].into(), ..Default::default() };
    let expected = (vec![(target.clone(), request.clone())], Some(credentials.clone()), Vec::new());
    let result = client.tree(&cluster, |tree| async move {
        let words = name("words");
        tree.set_profile_request(&leader, &words, &target, &request).await?;
        let requests = tree.profile_requests(&words).await?.found;
        tree.remove_profile_request(&words, &target).await?;
        tree.set_credentials(&leader, &words, &credentials).await?;
        Ok((requests, tree.credentials(&words, false).await?.value(), tree.profile_requests(&words).await?.found))
    });
    assert_eq!(result, Ok(expected));
}
