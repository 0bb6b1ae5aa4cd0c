//! Shared vocabulary: ids, topology, configuration, validation, numbering and placement; no I/O.
