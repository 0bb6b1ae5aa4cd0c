//! What nimbus refuses with. Which call may be refused with what stands with the call, in
//! [`nimbus`](crate::nimbus).
//!
//! Source: `storm.thrift` of Storm 2.8.2.

use crate::thrift::records;

records! {
    in EXCEPTIONS;

    /// A topology of that name exists.
    #[derive(Default, Eq)]
    exception AlreadyAliveException {
        1: msg: String,
    }

    /// There is no such topology.
    #[derive(Default, Eq)]
    exception NotAliveException {
        1: msg: String,
    }

    /// The caller may not do that.
    #[derive(Default, Eq)]
    exception AuthorizationException {
        1: msg: String,
    }

    /// The topology, its configuration or what is asked of it is not valid.
    #[derive(Default, Eq)]
    exception InvalidTopologyException {
        1: msg: String,
    }

    /// There is no such blob.
    #[derive(Default, Eq)]
    exception KeyNotFoundException {
        1: msg: String,
    }

    /// That cannot be done now: the blob is in use.
    #[derive(Default, Eq)]
    exception IllegalStateException {
        1: msg: String,
    }

    /// A blob of that key exists.
    #[derive(Default, Eq)]
    exception KeyAlreadyExistsException {
        1: msg: String,
    }
}
