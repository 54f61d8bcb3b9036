//! Fetch: when each instruction comes out of the instruction cache or the cache of decoded ones.

use crate::code::Static;
use crate::memory::{Cache, Found, Hierarchy, LINE, Side, Translations, Why};
use crate::processor::Processor;
use crate::resources::InOrder;
use timewise_trace::Psv;

/// An instruction that was fetched.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// When.
    pub cycle: u64,
    /// When it can be dispatched at the earliest.
    pub decoded: u64,
    /// What it was subject to; an exception, if it has to be fetched again.
    pub events: Psv,
}

/// Where instructions come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Decoders,
    OpCache,
}

/// The number of none.
const NO_PACKET: u64 = u64::MAX;

/// How much a cycle brings, and how long it is on its way.
#[derive(Clone, Copy, Debug)]
struct Rate {
    width: u32,
    /// What a cycle brings lies in so many aligned packets of so many bytes.
    packets: u32,
    bytes: u64,
    depth: u64,
    entries: Option<Entries>,
}

/// Entries, of which alone a cycle brings some.
#[derive(Clone, Copy, Debug)]
struct Entries {
    /// Instructions of one.
    room: u32,
    /// So many in a cycle.
    most: u32,
    /// Cycles from as many of a packet to more of it.
    again: u64,
}

/// The entry that was fetched last.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Instructions for which it has room.
    left: u32,
    /// It is so many of its cycle,
    of_cycle: u32,
    /// and of its packet.
    of_packet: u32,
}

impl Entry {
    /// Sees an instruction that is there in this way, of another packet or not.
    #[inline]
    fn take(&mut self, entries: Option<Entries>, turn: Turn, cost: u32, is_other: bool) {
        if is_other {
            self.of_packet = 0;
        }
        match (entries, turn) {
            (None, _) => *self = Entry::default(),
            (_, Turn::Joins) => self.left -= cost,
            (Some(entries), _) => {
                self.left = entries.room.saturating_sub(cost);
                self.of_cycle += 1;
                self.of_packet += 1;
            }
        }
    }
}

/// How an instruction is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// With what was fetched before it.
    Joins,
    /// As the first of an entry.
    Begins,
    /// As the first of an entry of a packet of which a cycle brought all the entries that it can.
    GoesOn,
}

/// The state of fetch.
#[derive(Debug)]
pub struct Fetcher {
    rates: [Rate; 2],
    op_cache: Option<Cache>,
    switch: u64,
    taken_bubble: u64,
    bubbles_ahead: bool,
    /// The cycle, what was fetched in it, from how many packets, and the latest of them.
    cycle: u64,
    instructions: u32,
    packets: u32,
    packet: u64,
    /// Code went on, without a branch, in this cycle from one packet to the next, or in a packet from the cycle before.
    goes_on: bool,
    entry: Entry,
    from: From,
    /// The line and the window of the latest instruction.
    line: u64,
    window: u64,
    is_new_block: bool,
    /// When prediction came to the block.
    predicted: u64,
    /// Blocks that are predicted and not fetched.
    ahead: Option<InOrder>,
    /// Instructions that are fetched and not dispatched.
    buffer: InOrder,
}

impl Fetcher {
    /// Fetch that begins at cycle 0.
    pub fn new(processor: &Processor) -> Fetcher {
        let (fetch, ops) = (&processor.fetch, &processor.op_cache);
        let (width, bytes) = (fetch.width, fetch.bytes.into());
        let decoders = Rate { width, packets: fetch.pieces, bytes, depth: fetch.depth, entries: None };
        let cached = ops.as_ref().map(|ops| Rate {
            width: ops.width,
            packets: ops.pieces,
            bytes: ops.bytes.into(),
            depth: ops.depth,
            entries: ops.entry.map(|room| Entries { room, most: ops.width / room, again: ops.again }),
        });
        Fetcher {
            rates: [decoders, cached.unwrap_or(decoders)],
            op_cache: ops.as_ref().map(|ops| Cache::new(ops.windows / ops.ways, ops.ways)),
            switch: ops.as_ref().map_or(0, |ops| ops.switch),
            taken_bubble: fetch.taken_bubble,
            bubbles_ahead: fetch.bubbles_ahead,
            cycle: 0,
            instructions: 0,
            packets: 0,
            packet: 0,
            goes_on: false,
            entry: Entry::default(),
            from: From::Decoders,
            line: u64::MAX,
            window: u64::MAX,
            is_new_block: true,
            predicted: 0,
            ahead: (fetch.blocks_ahead > 0).then(|| InOrder::new(fetch.blocks_ahead as usize)),
            buffer: InOrder::new(fetch.buffer as usize),
        }
    }

    /// Fetch goes on elsewhere, behind a branch that was foreseen, after so many lost cycles.
    pub fn take_branch(&mut self, lost: u64) {
        let lost = lost + self.taken_bubble;
        let (is_there, begun) = match self.bubbles_ahead {
            // Prediction comes to what it leads to in the cycle behind that in which it came to the branch.
            true => {
                self.predicted += lost;
                (self.predicted < self.cycle, self.predicted.max(self.cycle) + 1)
            }
            false => (lost == 0, self.cycle + 1 + lost),
        };
        let has_room = self.from == From::OpCache && self.packets < self.rates[self.from as usize].packets;
        if is_there && !self.goes_on && has_room {
            // What it leads to comes in the same cycle, as a packet of its own.
            (self.packet, self.is_new_block) = (NO_PACKET, true);
        } else {
            self.begin(begun);
        }
    }

    /// Likewise, behind a branch that nobody knew of: prediction, which ran on behind it, begins anew.
    pub fn find_branch(&mut self, lost: u64) {
        self.begin(self.cycle + 1 + lost + self.taken_bubble);
        self.predicted = self.cycle;
    }

    /// Fetch goes on elsewhere at this cycle, as nobody foresaw.
    pub fn redirect(&mut self, cycle: u64) {
        self.predicted = cycle;
        self.begin(cycle);
    }

    /// The latest cycle.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Cycles to dispatch.
    pub fn depth(&self) -> u64 {
        self.rates[self.from as usize].depth
    }

    fn begin(&mut self, cycle: u64) {
        self.next_cycle(self.cycle.max(cycle));
        self.is_new_block = true;
    }

    fn next_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
        (self.instructions, self.packets, self.goes_on) = (0, 0, false);
        self.entry.of_cycle = 0;
    }

    /// Fetches an instruction.
    #[inline]
    pub fn fetch(&mut self, it: &Static, caches: &mut Hierarchy, pages: &mut Translations) -> Fetched {
        let &Static { address, length, entries, .. } = it;
        let mut events = Psv::BASE;
        let window = address >> 5;
        // A loop within a window is in the cache of decoded instructions from its second time on.
        if window != self.window || self.is_new_block && self.from == From::Decoders {
            self.window = window;
            self.enter_window(window);
        }
        let line = address >> LINE;
        let is_new_block = self.is_new_block;
        if line != self.line || self.is_new_block {
            self.enter_block();
            if line != self.line && self.from == From::Decoders {
                events = self.get_line(address, caches, pages);
            }
            self.line = line;
            self.is_new_block = false;
            if let Some(ahead) = &mut self.ahead {
                ahead.take(self.cycle);
            }
        }
        let rate = self.rates[self.from as usize];
        let cost = match self.from {
            From::Decoders => u32::from(entries > 0 || it.is_fused_nop),
            From::OpCache => entries.into(),
        };
        // An instruction that lies in two packets is there with the second.
        let packet = (address + u64::from(length.max(1)) - 1) / rate.bytes;
        let packets = self.packets + u32::from(packet != self.packet);
        let is_other = is_new_block || packet != self.packet;
        let turn = rate.entries.map_or(Turn::Joins, |of| self.turn(of, cost, is_new_block, is_other));
        let is_full = packets > rate.packets
            || match rate.entries {
                Some(of) => {
                    turn == Turn::GoesOn
                        || self.entry.of_cycle == of.most && (is_other || turn != Turn::Joins)
                }
                None => self.instructions + cost > rate.width,
            };
        if is_full && self.instructions > 0 {
            let again = rate.entries.filter(|_| turn == Turn::GoesOn).map_or(1, |of| of.again);
            self.next_cycle(self.cycle + again);
        }
        if entries > 0 && self.buffer.free_at() > self.cycle {
            self.next_cycle(self.buffer.free_at());
        }
        self.goes_on |= !is_new_block && packet != self.packet || turn == Turn::GoesOn;
        // Whatever is the first of a cycle is of its first packet.
        self.packets = match turn {
            Turn::GoesOn => rate.packets,
            _ if self.instructions > 0 => packets,
            _ => 1,
        };
        self.instructions += cost;
        self.packet = packet;
        self.entry.take(rate.entries, turn, cost, is_other);
        Fetched { cycle: self.cycle, decoded: self.cycle + rate.depth, events }
    }

    /// How an instruction is there, where entries are fetched as a whole.
    #[inline]
    fn turn(&self, of: Entries, cost: u32, is_new_block: bool, is_other: bool) -> Turn {
        if !is_new_block && cost <= self.entry.left {
            return Turn::Joins;
        }
        let is_all = self.entry.of_packet > 0 && self.entry.of_packet.is_multiple_of(of.most);
        if is_all && !is_other { Turn::GoesOn } else { Turn::Begins }
    }

    /// Sees an instruction that is not fetched by this core; true if it is of another line than the one before.
    pub fn touch(&mut self, address: u64) -> bool {
        if let Some(op_cache) = &mut self.op_cache {
            op_cache.touch(address >> 5);
        }
        std::mem::replace(&mut self.line, address >> LINE) != address >> LINE
    }

    /// Forgets the decoded instructions of a line; false if there are none.
    #[inline]
    pub fn drop_line(&mut self, line: u64) -> bool {
        if self.line == line {
            (self.line, self.window) = (u64::MAX, u64::MAX);
        }
        let Some(op_cache) = &mut self.op_cache else { return false };
        op_cache.drop(2 * line) | op_cache.drop(2 * line + 1)
    }

    /// An entry that was fetched is dispatched.
    #[inline]
    pub fn dispatched(&mut self, cycle: u64) {
        self.buffer.take(cycle + 1);
    }

    fn enter_window(&mut self, window: u64) {
        let Some(op_cache) = &mut self.op_cache else { return };
        let from = match op_cache.find(window, self.cycle) {
            Found::Present => From::OpCache,
            _ => {
                op_cache.fill(window, self.cycle, self.cycle);
                From::Decoders
            }
        };
        if from != self.from {
            self.from = from;
            self.next_cycle(self.cycle + self.switch);
            // The instruction cache is asked for the line only now.
            self.line = u64::MAX;
        }
    }

    fn enter_block(&mut self) {
        self.predicted += 1;
        if let Some(ahead) = &self.ahead {
            self.predicted = self.predicted.max(ahead.free_at());
        }
    }

    fn get_line(&mut self, address: u64, caches: &mut Hierarchy, pages: &mut Translations) -> Psv {
        let mut events = Psv::BASE;
        let asked = match self.ahead {
            Some(_) => self.predicted.min(self.cycle),
            None => self.cycle,
        };
        let page = pages.translate(Side::Instructions, address, asked, caches);
        let access = caches.access(address >> LINE, page.ready, Why::Fetch);
        let mut there = page.ready;
        if page.missed {
            events |= Psv::DR_TLB;
        }
        if pages.touch_first(address, 1) {
            events |= Psv::FL_EX;
        }
        if access.missed_first {
            events |= Psv::DR_L1;
            there = access.ready;
        }
        if there > self.cycle {
            self.next_cycle(there);
        }
        events
    }
}
