//! The acker ledger, the spout pending table, lanes, edge ids and folding; no I/O, no clock.
