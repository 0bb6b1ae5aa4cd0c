//! Frames: the batch of tuples that moves as one unit through a ring or a socket.
