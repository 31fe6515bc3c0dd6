//! How our queues map to the kernel's queueing disciplines.
