//! Ringstorm: Apache Storm's model on a thread-per-core io_uring runtime.
