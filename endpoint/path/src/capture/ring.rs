//! A packet socket whose packets the kernel writes to memory shared with this process (`TPACKET_V3`,
//! Documentation/networking/packet_mmap.rst). This ring is not read while packets arrive, so it must have room for all
//! of them.

use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;

use anyhow::{Context, Result, ensure};
use libc::{
    ETH_P_ALL, SOL_PACKET, c_int, c_void, sock_filter, sock_fprog, sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1,
    tpacket_req3, tpacket3_hdr,
};
use netwarp_transport::socket::Socket;
use socket2::{Domain, Type};

/// The size of a block, the unit in which the kernel fills the ring.
const BLOCK_BYTES: u32 = 1 << 20;

/// The time-out after which the kernel would release a block that is not full. It is longer than any run, because the
/// timer's interrupts would change the guest's random numbers.
const RETIRE_MS: u32 = 1_000_000_000;

/// The interface index that stands for all devices of the namespace.
const ALL_DEVICES: i32 = 0;

/// The interface to which the packet socket is bound to stop the capture: the router's loopback, which carries no
/// packets.
const LOOPBACK: i32 = 1;

/// A packet in the ring.
#[derive(Debug, Clone, Copy)]
pub struct CapturedPacket<'a> {
    /// The index of the interface.
    pub index: u32,
    /// Whether the packet left through the interface, rather than arrived.
    pub outgoing: bool,
    /// The time stamp, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The packet's bytes from the Ethernet header on: all, or as many as the selection keeps.
    pub bytes: &'a [u8],
    /// The packet's full length.
    pub length_bytes: u32,
}

/// Which packets a ring captures, if it does not capture all.
#[derive(Debug, Clone, Copy)]
pub struct Selection {
    /// The device whose incoming packets are captured.
    pub incoming: u32,
    /// The device whose outgoing packets are captured.
    pub outgoing: u32,
    /// How many bytes of each packet are kept.
    pub snap_bytes: u32,
}

impl Selection {
    /// Returns the selection as a classic BPF program (Documentation/networking/filter.rst).
    fn program(&self) -> [sock_filter; 8] {
        let ancillary = |field: c_int| (libc::SKF_AD_OFF + field) as u32;
        let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
        let load = |field| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, ancillary(field));
        let equals = |k, jt, jf| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, k);
        let take = |bytes| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, bytes);
        [
            load(libc::SKF_AD_PKTTYPE),
            equals(libc::PACKET_OUTGOING.into(), 0, 2),
            load(libc::SKF_AD_IFINDEX),
            equals(self.outgoing, 2, 3),
            load(libc::SKF_AD_IFINDEX),
            equals(self.incoming, 0, 1),
            take(self.snap_bytes),
            take(0),
        ]
    }
}

/// A packet socket that captures the packets of a network namespace's devices into a ring buffer in shared memory.
#[derive(Debug)]
pub struct Ring {
    socket: Socket,
    memory: NonNull<c_void>,
    blocks: u32,
    is_whole: bool,
}

impl Ring {
    /// Starts capturing in the caller's network namespace, with room for `bytes` of packets and their headers. Without
    /// a selection, all packets are captured whole.
    pub fn open(bytes: u64, selection: Option<&Selection>) -> Result<Self> {
        // Nothing is captured before `bind`: the protocol is zero.
        let socket = socket2::Socket::new(Domain::PACKET, Type::RAW, None)
            .context("open a packet socket (CAP_NET_RAW, CONFIG_PACKET)")?;
        let socket = Socket::from(socket);
        if let Some(selection) = selection {
            let mut program = selection.program();
            let filter = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
            socket.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter, "SO_ATTACH_FILTER")?;
        }
        let blocks = u32::try_from(bytes.div_ceil(BLOCK_BYTES.into())).context("a ring of that size")?;
        let version = libc::tpacket_versions::TPACKET_V3 as c_int;
        socket.set(SOL_PACKET, libc::PACKET_VERSION, &version, "PACKET_VERSION")?;
        let request = tpacket_req3 {
            tp_block_size: BLOCK_BYTES,
            tp_block_nr: blocks,
            tp_frame_size: 2048,
            tp_frame_nr: blocks * (BLOCK_BYTES / 2048),
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(SOL_PACKET, libc::PACKET_RX_RING, &request, "PACKET_RX_RING")?;
        let length = blocks as usize * BLOCK_BYTES as usize;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        ensure!(memory != libc::MAP_FAILED, "map the ring of packets: {}", std::io::Error::last_os_error());
        // Programs that are started during a capture are forked without the mapping, because User-Mode Linux cannot
        // copy such pages. SAFETY: the mapping is this one, and of this length.
        let kept = unsafe { libc::madvise(memory, length, libc::MADV_DONTFORK) };
        check(kept, "keep the ring of packets from other processes (madvise MADV_DONTFORK)")?;
        let memory = NonNull::new(memory).context("the ring of packets is mapped at zero")?;
        let ring = Self { socket, memory, blocks, is_whole: selection.is_none() };
        ring.listen(ALL_DEVICES)?;
        Ok(ring)
    }

    /// Stops the capture. When this returns, the kernel writes no more packets to the ring.
    pub fn stop(&self) -> Result<()> {
        self.listen(LOOPBACK)
    }

    fn listen(&self, index: i32) -> Result<()> {
        // SAFETY: all-zero is a valid address.
        let mut address: sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        // SAFETY: `address` is valid for reads of its size.
        let result = unsafe {
            let pointer = std::ptr::from_ref(&address).cast();
            libc::bind(self.socket.as_raw_fd(), pointer, size_of_val(&address) as libc::socklen_t)
        };
        check(result, "bind a packet socket")
    }

    /// Passes every packet to `take`, in order. The capture must have stopped.
    ///
    /// # Errors
    /// The errors of `take`; packets did not fit into the ring.
    pub fn read(&self, mut take: impl FnMut(CapturedPacket<'_>) -> Result<()>) -> Result<()> {
        let mut taken = 0;
        // The kernel counts the packets in a block as it adds them; blocks that were not used have none.
        for block in 0..self.blocks {
            taken += self.walk(block, &mut take)?;
        }
        let mut counted = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = size_of_val(&counted) as libc::socklen_t;
        // SAFETY: `counted` is valid for writes of `length` bytes.
        let result = unsafe {
            let value = std::ptr::from_mut(&mut counted).cast::<c_void>();
            libc::getsockopt(self.socket.as_raw_fd(), SOL_PACKET, libc::PACKET_STATISTICS, value, &mut length)
        };
        check(result, "read PACKET_STATISTICS")?;
        ensure!(
            counted.tp_drops == 0,
            "the capture missed {} of {} packets: its memory of {} MiB is full; capture a smaller workload",
            counted.tp_drops,
            counted.tp_packets,
            (u64::from(self.blocks) * u64::from(BLOCK_BYTES)) >> 20
        );
        ensure!(
            taken == counted.tp_packets,
            "the capture found {taken} packets where the kernel counted {}",
            counted.tp_packets
        );
        Ok(())
    }

    /// Passes each packet of a block to `take`, and returns how many there were.
    fn walk(&self, block: u32, take: &mut impl FnMut(CapturedPacket<'_>) -> Result<()>) -> Result<u32> {
        // SAFETY: the block's header is the kernel's, and only read.
        let header: tpacket_hdr_v1 = unsafe { (*self.block(block)).hdr.bh1 };
        let mut at = header.offset_to_first_pkt as usize;
        for _ in 0..header.num_pkts {
            // SAFETY: the offsets are the kernel's and stay inside the block, which is not written to any more.
            let (packet, address, bytes) = unsafe {
                let start = self.block(block).cast::<u8>().add(at);
                let packet = &*start.cast::<tpacket3_hdr>();
                let address = &*start.add(ALIGNED_HEADER_BYTES).cast::<sockaddr_ll>();
                let bytes = std::slice::from_raw_parts(start.add(packet.tp_mac.into()), packet.tp_snaplen as usize);
                (packet, address, bytes)
            };
            let is_cut = self.is_whole && packet.tp_snaplen != packet.tp_len;
            ensure!(!is_cut, "a packet of {} bytes was cut short", packet.tp_len);
            take(CapturedPacket {
                index: address.sll_ifindex.unsigned_abs(),
                outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
                time_ns: u64::from(packet.tp_sec) * 1_000_000_000 + u64::from(packet.tp_nsec),
                bytes,
                length_bytes: packet.tp_len,
            })?;
            at += packet.tp_next_offset as usize;
        }
        Ok(header.num_pkts)
    }

    fn block(&self, block: u32) -> *mut tpacket_block_desc {
        let offset = block as usize * BLOCK_BYTES as usize;
        // SAFETY: inside the mapping.
        unsafe { self.memory.as_ptr().cast::<u8>().add(offset).cast() }
    }
}

/// The offset of the packet's `struct sockaddr_ll`: `TPACKET_ALIGN(sizeof(struct tpacket3_hdr))`.
const ALIGNED_HEADER_BYTES: usize = size_of::<tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's, and nothing borrows from it any more.
        unsafe { libc::munmap(self.memory.as_ptr(), self.blocks as usize * BLOCK_BYTES as usize) };
    }
}

fn check(result: c_int, attempt: &'static str) -> Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()).context(attempt) } else { Ok(()) }
}
