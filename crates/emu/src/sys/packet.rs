//! Packet sockets: copies of everything that enters or leaves a network device.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;

use bakeoff_core::units::Duration;

use super::{checked, set_option, socket};

/// `ETH_P_ALL`.
const ALL_PROTOCOLS: u16 = 3;
/// `PACKET_OUTGOING`.
const OUTGOING: u8 = 4;
/// `PACKET_STATISTICS`.
const STATISTICS: i32 = 6;
/// Room for what the kernel has not yet been asked for.
const BUFFER_BYTES: i32 = 256 << 20;
const CONTROL_BYTES: usize = 64;
/// IP header and the beginning of the transport's.
const SNAP_BYTES: usize = 64;

/// One packet as a device saw it.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Time of day: since 1970.
    pub time: Duration,
    /// True if the device sent it; false if it received it.
    pub is_outgoing: bool,
    /// The first bytes of the packet, from its IP header on.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy)]
struct Slot {
    bytes: [u8; SNAP_BYTES],
    length: usize,
    time: Duration,
    address: libc::sockaddr_ll,
    control: [u64; CONTROL_BYTES / 8],
}

/// Room for many packets, because a call for each would be slow.
pub struct Batch {
    slots: Vec<Slot>,
}

impl Batch {
    /// Room for this many packets.
    #[expect(unsafe_code, reason = "zeroed structure")]
    pub fn new(packets: usize) -> Self {
        // SAFETY: all-zero bytes are valid for numbers and for an address structure.
        Self { slots: vec![unsafe { mem::zeroed() }; packets] }
    }
}

/// A packet socket on one device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Listens to the device with this index, in the namespace of the calling thread.
    #[expect(unsafe_code, reason = "bind(2)")]
    pub fn open(device: u32) -> io::Result<Self> {
        let socket = socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES.to_ne_bytes())?;
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32.to_ne_bytes())?;
        // SAFETY: all-zero bytes are a valid address structure.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL_PROTOCOLS.to_be();
        address.sll_ifindex = device as i32;
        // SAFETY: the pointer and the length are those of one structure.
        checked(unsafe {
            let length = mem::size_of_val(&address) as libc::socklen_t;
            libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
        })?;
        Ok(Self { socket })
    }

    /// Takes what has come since the last call, as far as it fits into `batch`.
    #[expect(unsafe_code, reason = "recvmmsg(2)")]
    pub fn receive<'a>(&self, batch: &'a mut Batch) -> io::Result<impl Iterator<Item = Captured<'a>> + use<'a>> {
        let mut vectors: Vec<_> = batch
            .slots
            .iter_mut()
            .map(|slot| libc::iovec { iov_base: slot.bytes.as_mut_ptr().cast(), iov_len: SNAP_BYTES })
            .collect();
        let mut messages: Vec<_> = batch
            .slots
            .iter_mut()
            .zip(&mut vectors)
            .map(|(slot, vector)| {
                // SAFETY: all-zero bytes are a valid structure.
                let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
                message.msg_hdr.msg_name = (&raw mut slot.address).cast();
                message.msg_hdr.msg_namelen = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = slot.control.as_mut_ptr().cast();
                message.msg_hdr.msg_controllen = CONTROL_BYTES;
                message
            })
            .collect();
        // SAFETY: every pointer of every message is to memory of ours that lives across the call.
        let count = unsafe {
            let length = messages.len() as libc::c_uint;
            libc::recvmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), length, 0, ptr::null_mut())
        };
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return Err(io::Error::last_os_error()),
        };
        for (slot, message) in batch.slots.iter_mut().zip(&messages[..count]) {
            slot.length = message.msg_len as usize;
            // SAFETY: the kernel has filled the control buffer to the length that it states.
            slot.time = unsafe { time_stamp(&message.msg_hdr) };
        }
        Ok(batch.slots[..count].iter().map(|slot| Captured {
            time: slot.time,
            is_outgoing: slot.address.sll_pkttype == OUTGOING,
            bytes: &slot.bytes[..slot.length],
        }))
    }

    /// Packets that did not fit into the buffer since the last call.
    pub fn missed(&self) -> io::Result<u32> {
        let mut counters = [0; 8];
        super::get_option(self.socket.as_fd(), libc::SOL_PACKET, STATISTICS, &mut counters)?;
        Ok(u32::from_ne_bytes([counters[4], counters[5], counters[6], counters[7]]))
    }
}

/// The time stamp among the control messages; zero if there is none.
#[expect(unsafe_code, reason = "cmsg(3)")]
unsafe fn time_stamp(message: &libc::msghdr) -> Duration {
    // SAFETY: the caller vouches for the message; the macros stay within its control buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    Duration::ZERO
}
