//! Sizes and bounds of a core's sockets.

/// Sizes and bounds.
#[derive(Clone, Copy, Debug)]
pub struct SocketsSettings {
    /// The longest frame that is taken, in bytes.
    pub frame_bytes_max: u32,
    /// Bytes up to which each connection's receive buffer grows when much comes.
    pub receive_bytes: usize,
    /// A peer takes no more units while it has not confirmed as many bytes.
    pub kept_bytes_max: usize,
    /// Nor while as many wait for the kernel to take them, so that a control unit is never behind much.
    pub unsent_bytes_max: usize,
    /// A peer is told of what came after as many bytes, if it was not told along with something else.
    pub confirm_bytes: usize,
    /// Or after as many units: the peer keeps a buffer for each, however little is in it.
    pub confirm_units: u64,
}

impl Default for SocketsSettings {
    fn default() -> Self {
        Self {
            frame_bytes_max: 65 << 20,
            receive_bytes: 256 << 10,
            kept_bytes_max: 4 << 20,
            unsent_bytes_max: 256 << 10,
            confirm_bytes: 256 << 10,
            confirm_units: 64,
        }
    }
}
