//! Who may do what with a node, and how a session says who it is.
//!
//! Source: ZooKeeper's access control lists, its schemes `world`, `auth` and `digest`, and what Storm makes of them.
//! Invariants: secrets are never shown. Threading: plain data.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// What may be done with a node, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights(pub u8);

impl Rights {
    /// To read its data and its children.
    pub const READ: Self = Self(1);
    /// To set its data.
    pub const WRITE: Self = Self(2);
    /// To make children.
    pub const CREATE: Self = Self(4);
    /// To delete children.
    pub const DELETE: Self = Self(8);
    /// To set its list of rights.
    pub const ADMIN: Self = Self(16);
    /// All of them.
    pub const ALL: Self = Self(31);

    /// Whether all of `wanted` are among them.
    pub fn include(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// One entry of a node's list: who may do what.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Acl {
    /// What they may do.
    pub rights: Rights,
    /// How they say who they are: `world`, `auth`, `digest`, or another of ZooKeeper's schemes.
    pub scheme: String,
    /// Who they are, in the scheme.
    pub id: String,
}

/// A node's list. Shared, since most nodes have one of a few.
pub type Acls = Arc<[Acl]>;

/// A text that is no `scheme:id`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("storm.zookeeper.superACL is {0:?}; give a scheme and an id, such as \"sasl:storm\"")]
pub struct InvalidSuperAcl(pub String);

impl Acl {
    /// Anyone may do anything: what Storm writes in a cluster without security.
    pub fn anyone() -> Self {
        Self { rights: Rights::ALL, scheme: "world".into(), id: "anyone".into() }
    }

    /// Whoever makes the node, by all that its session has said of itself. The server puts these in its place.
    pub fn creator() -> Self {
        Self { rights: Rights::ALL, scheme: "auth".into(), id: String::new() }
    }

    /// Who knows a user's name and password.
    pub fn digest(credential: &Credential, rights: Rights) -> Self {
        Self { rights, scheme: "digest".into(), id: credential.digest_id() }
    }

    /// Reads `storm.zookeeper.superACL`, who may do anything.
    ///
    /// # Errors
    /// The text has no colon, or nothing on one side of it.
    pub fn super_user(text: &str) -> Result<Self, InvalidSuperAcl> {
        match text.split_once(':') {
            Some((scheme, id)) if !scheme.is_empty() && !id.is_empty() => {
                Ok(Self { rights: Rights::ALL, scheme: scheme.into(), id: id.into() })
            }
            _ => Err(InvalidSuperAcl(text.to_owned())),
        }
    }
}

/// As the golden records write it: `31:world:anyone`.
impl fmt::Display for Acl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.rights.0, self.scheme, self.id)
    }
}

impl fmt::Debug for Acl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A name and a password of the scheme `digest`.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    user: String,
    password: String,
}

/// A payload that is no `user:password`. It is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload of the scheme digest is user:password, with a user that is not empty; this one is not")]
pub struct InvalidCredential;

impl Credential {
    /// Reads `user:password`, the payload of `storm.zookeeper.auth.payload`.
    ///
    /// # Errors
    /// There is no colon, or no user before it.
    pub fn new(payload: &str) -> Result<Self, InvalidCredential> {
        match payload.split_once(':') {
            Some((user, password)) if !user.is_empty() => Ok(Self { user: user.into(), password: password.into() }),
            _ => Err(InvalidCredential),
        }
    }

    /// `user:password`.
    pub fn payload(&self) -> String {
        format!("{}:{}", self.user, self.password)
    }

    /// The id in lists: the user and the SHA-1 of the payload, in Base64 (`DigestAuthenticationProvider.generateDigest`).
    pub fn digest_id(&self) -> String {
        format!("{}:{}", self.user, STANDARD.encode(Sha1::digest(self.payload())))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:(secret)", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_zookeepers() {
        // From ZooKeeper's own documentation of the super user.
        let credential = Credential::new("super:test").unwrap();
        assert_eq!(credential.digest_id(), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
        assert_eq!(Acl::digest(&credential, Rights::READ).to_string(), "1:digest:super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Credential::new("storm:swordfish").unwrap()), "storm:(secret)");
        assert_eq!(Credential::new("swordfish"), Err(InvalidCredential));
        assert_eq!(Credential::new(":swordfish"), Err(InvalidCredential));
    }

    #[test]
    fn a_super_user_has_a_scheme_and_an_id() {
        assert_eq!(Acl::super_user("sasl:storm").unwrap().to_string(), "31:sasl:storm");
        for bad in ["storm", ":storm", "sasl:"] {
            assert!(Acl::super_user(bad).is_err(), "{bad}");
        }
    }
}
