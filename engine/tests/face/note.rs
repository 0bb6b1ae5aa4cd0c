//! Whoever looks at a topology's executable sees what it is, however it was built.

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use ringstorm_submission::executable::{Built, OWN_MACHINE, Unfit, topology_for};
use ringstorm_types::wire_format::WIRE_FORMAT;

use crate::processes::example;

fn judged(path: &Path) -> Result<Built, Unfit> {
    topology_for(OWN_MACHINE, &mut File::open(path).unwrap())
}

#[test]
fn a_topology_is_known_as_one_also_without_symbols_and_sections() {
    let topology = example("exclamation");
    let built = judged(&topology).unwrap();
    assert_eq!(built, Built { wire_format: WIRE_FORMAT.into(), version: env!("CARGO_PKG_VERSION").into() });

    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("stripped");
    // Of the tools that the linker came with.
    let done = Command::new("strip").arg("--strip-all").arg("-o").arg(&stripped).arg(&topology).status().unwrap();
    assert!(done.success());
    assert_eq!(judged(&stripped).unwrap(), built);

    // The table of sections, as the header tells of it.
    let mut bare = fs::read(&stripped).unwrap();
    bare[40..48].fill(0);
    bare[58..64].fill(0);
    assert_eq!(topology_for(OWN_MACHINE, &mut Cursor::new(&bare)).unwrap(), built);
}

#[test]
fn a_part_of_a_topology_and_a_program_that_is_none_are_told_from_one() {
    let topology = fs::read(example("exclamation")).unwrap();
    for end in [64, 4096, topology.len() / 2, topology.len() - 1] {
        let part = topology_for(OWN_MACHINE, &mut Cursor::new(&topology[..end]));
        assert!(matches!(part, Err(Unfit::CutOff(..))), "{end}: {part:?}");
    }
    // It is linked with all of Ringstorm, but for the entry point.
    let own = judged(Path::new("/proc/self/exe"));
    assert!(matches!(own, Err(Unfit::Other("an executable of another kind"))), "{own:?}");
}
