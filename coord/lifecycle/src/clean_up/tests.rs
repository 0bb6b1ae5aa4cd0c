//! What stays, what goes, and what is never asked.

use super::*;

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn nothing() -> Listings {
    let none = || Ok(BTreeSet::new());
    Listings {
        bases: none(),
        assignments: none(),
        heartbeats: none(),
        errors: none(),
        blobs: none(),
        backpressure: none(),
        worker_keys: none(),
        credentials: none(),
        log_configs: none(),
        profiler_configs: none(),
    }
}

fn round(listings: &Listings, idle_since: &IdleSince, now_ms: u64) -> CleanUp {
    clean_up(listings, &ids(&["submitted"]), idle_since, now_ms, 100).unwrap()
}

#[test]
fn only_what_has_been_idle_for_the_whole_delay_goes() {
    let listings = Listings {
        bases: Ok(ids(&["lives"])),
        blobs: Ok(ids(&["lives", "gone", "submitted"])),
        errors: Ok(ids(&["also gone"])),
        ..nothing()
    };
    let first = round(&listings, &IdleSince::default(), 50);
    assert_eq!((first.remove, first.idle_since.get("gone")), (ids(&[]), Some(50)));
    assert_eq!(first.idle_since.len(), 2);
    assert_eq!(round(&listings, &first.idle_since, 149).remove, ids(&[]));
    let last = round(&listings, &first.idle_since, 150);
    assert_eq!(last.remove, ids(&["gone", "also gone"]));
    assert!(round(&nothing(), &last.idle_since, 151).idle_since.is_empty());
}

#[test]
fn what_lives_in_between_starts_over() {
    let gone = Listings { blobs: Ok(ids(&["a"])), ..nothing() };
    let lives = Listings { bases: Ok(ids(&["a"])), ..gone.clone() };
    let idle = round(&gone, &IdleSince::default(), 0).idle_since;
    let idle = round(&lives, &idle, 60).idle_since;
    let idle = round(&gone, &idle, 100).idle_since;
    assert_eq!(round(&gone, &idle, 199).remove, ids(&[]));
    assert_eq!(round(&gone, &idle, 200).remove, ids(&["a"]));
}

#[test]
fn an_assignment_without_a_base_goes_before_all_else() {
    let stray = Listings { assignments: Ok(ids(&["a"])), heartbeats: Ok(ids(&["a"])), ..nothing() };
    let idle = round(&stray, &IdleSince::default(), 0).idle_since;
    let due = round(&stray, &idle, 100);
    assert_eq!((due.remove, due.stray_assignments), (ids(&[]), ids(&["a"])));
    let after = Listings { assignments: Ok(ids(&[])), ..stray };
    assert_eq!(round(&after, &due.idle_since, 100).remove, ids(&["a"]));
}

#[test]
fn a_clock_that_goes_back_only_delays() {
    let gone = Listings { blobs: Ok(ids(&["a"])), ..nothing() };
    let idle = round(&gone, &IdleSince::default(), 1000).idle_since;
    let back = round(&gone, &idle, 10);
    assert_eq!((back.remove, back.idle_since.get("a")), (ids(&[]), Some(10)));
}

#[test]
fn the_delay_is_storms_and_can_be_set() {
    let delay = |value: serde_json::Value| deletion_delay_ms(&Conf::from_iter([(DELETION_DELAY_MS.to_owned(), value)]));
    assert_eq!(deletion_delay_ms(&Conf::new()), Ok(300_000));
    assert_eq!(delay(5.into()), Ok(5));
    assert_eq!(delay((-5).into()), Ok(0));
    assert!(delay("soon".into()).is_err());
}
