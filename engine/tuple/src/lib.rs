//! Tuples: typed and dynamic values, their bytes, their views and the hash that places keys.
