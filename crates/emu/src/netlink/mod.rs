//! Messages to the kernel's network configuration (rtnetlink(7)).

mod message;

pub use message::Message;
