//! A whole tree, compared with what a real Storm wrote.
