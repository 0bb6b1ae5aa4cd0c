//! Single-producer rings between cores, the doorbell that wakes a parked core, and the idle policy.
