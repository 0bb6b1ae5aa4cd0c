//! The derive macro behind typed tuples.
