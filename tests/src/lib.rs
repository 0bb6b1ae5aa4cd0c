//! Suites that need several processes or a long run, and the harness that they share.
