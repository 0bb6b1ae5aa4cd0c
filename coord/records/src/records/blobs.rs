//! The blob store, which holds the code and configuration of topologies.
//!
//! Source: `storm.thrift` of Storm 2.8.2; the meaning of fields from its Java code.

use crate::thrift::{enumerations, records};

enumerations! {
    /// Who an entry of an access list is about.
    AccessControlType {
        1: Other as "OTHER",
        2: User as "USER",
    }
}

records! {
    in BLOBS;

    /// An entry of an access list.
    struct AccessControl {
        1: kind as "type": AccessControlType,
        /// Of the user; not set for others.
        2: name: Option<String>,
        /// Sum of 1 to read, 2 to write, 4 to administer.
        3: access: i32,
    }

    /// What may be set about a blob.
    #[derive(Default)]
    struct SettableBlobMeta {
        1: acl: Vec<AccessControl>,
        2: replication_factor: Option<i32>,
    }

    /// What is known about a blob.
    #[derive(Default)]
    struct ReadableBlobMeta {
        1: settable: SettableBlobMeta,
        /// Another one after each change of the content.
        2: version: i64,
    }

    /// A page of keys.
    #[derive(Default)]
    struct ListBlobsResult {
        /// None at the end.
        1: keys: Vec<String>,
        /// For the next call.
        2: session: String,
    }

    /// A download that has begun.
    #[derive(Default)]
    struct BeginDownloadResult {
        1: version: i64,
        2: session: String,
        /// In bytes.
        3: data_size: Option<i64>,
    }
}
