//! The KV cache of an engine: pages of each kind of layer, and the regions that they are pages of.

use backend::Backend;
use compile::DeviceId;
use graph::{Region, RegionId};
use models::PAGE_POSITIONS;

use crate::{Held, Pages, RuntimeError, SeqId};

/// The devices of an engine.
pub(crate) type Devices = [Box<dyn Backend>];

/// Layers that hold the same positions: all of them, or those in a window.
struct Kind {
    window: Option<usize>,
    pages: Pages,
}

/// A region, where it lives, and which kind's pages it has.
struct Placed {
    id: RegionId,
    region: Region,
    device: DeviceId,
    kind: usize,
}

/// A page of a region, and how many of its positions a sequence has.
pub(crate) struct Part {
    pub region: RegionId,
    pub device: DeviceId,
    pub page: usize,
    pub positions: usize,
    pub bytes: usize,
}

/// Sequences and their positions in every layer.
pub(crate) struct KvCache {
    /// Full layers first, then those with a window if there are any.
    kinds: Vec<Kind>,
    regions: Vec<Placed>,
}

impl KvCache {
    /// A cache for `n_seq` sequences of `n_ctx` positions; layers with a window hold it and one batch.
    pub fn new(n_seq: usize, n_ctx: usize, n_ubatch: usize, window: Option<usize>) -> KvCache {
        let kind = |window| {
            let longest = n_ctx.div_ceil(PAGE_POSITIONS);
            let pages = Pages::new(n_seq * pages_needed(n_ctx, n_ubatch, window), longest);
            Kind { window, pages }
        };
        let kinds = std::iter::once(None).chain(window.map(Some)).map(kind).collect();
        KvCache { kinds, regions: Vec::new() }
    }

    /// Makes the regions of a program on their devices; those that exist must be the same.
    pub fn set_regions(
        &mut self,
        regions: &[(Region, Option<DeviceId>)],
        devices: &mut Devices,
    ) -> Result<(), RuntimeError> {
        let placed = |(i, (region, device)): (usize, &(Region, Option<DeviceId>))| Placed {
            id: RegionId(i as u32),
            region: region.clone(),
            device: device.expect("every region of a decoder is written"),
            kind: usize::from(region.window.is_some()),
        };
        self.regions = regions.iter().enumerate().map(placed).collect();
        for Placed { id, region, device, kind } in &self.regions {
            devices[device.0].reserve_region(*id, region, self.kinds[*kind].pages.count())?;
        }
        Ok(())
    }

    /// Bytes of pages in use, and of all pages.
    pub fn bytes(&self) -> (u64, u64) {
        let sum = |count: fn(&Pages) -> usize| -> u64 {
            let bytes = |r: &Placed| {
                r.region.bytes_per_position() * PAGE_POSITIONS * count(&self.kinds[r.kind].pages)
            };
            self.regions.iter().map(|r| bytes(r) as u64).sum()
        };
        (sum(Pages::in_use), sum(Pages::count))
    }

    /// A new, empty sequence.
    pub fn create(&mut self) -> SeqId {
        self.same_id(|pages| Ok(pages.create())).expect("nothing can fail")
    }

    /// A second sequence that continues from the same positions.
    pub fn fork(&mut self, seq: SeqId) -> Result<SeqId, RuntimeError> {
        self.same_id(|pages| pages.fork(seq))
    }

    /// Every kind counts its sequences alike.
    fn same_id(
        &mut self,
        mut make: impl FnMut(&mut Pages) -> Result<SeqId, RuntimeError>,
    ) -> Result<SeqId, RuntimeError> {
        let ids: Vec<SeqId> =
            self.kinds.iter_mut().map(|kind| make(&mut kind.pages)).collect::<Result<_, _>>()?;
        assert!(ids.iter().all(|id| *id == ids[0]));
        Ok(ids[0])
    }

    /// Positions of a sequence.
    pub fn len(&self, seq: SeqId) -> Result<usize, RuntimeError> {
        self.kinds[0].pages.len(seq)
    }

    /// Cuts a sequence to its first `to` positions; refused where a window has already let go of what they see.
    pub fn truncate(&mut self, seq: SeqId, to: usize, devices: &mut Devices) -> Result<(), RuntimeError> {
        for Kind { window, pages } in &self.kinds {
            pages.check_truncate(seq, to, *window)?;
        }
        self.free(devices, |pages| pages.truncate(seq, to))
    }

    /// Removes a sequence and gives back its pages.
    pub fn remove(&mut self, seq: SeqId, devices: &mut Devices) -> Result<(), RuntimeError> {
        self.free(devices, |pages| pages.remove(seq))
    }

    /// Makes room for `count` more positions of a sequence in every layer.
    pub fn reserve(&mut self, seq: SeqId, count: usize, devices: &mut Devices) -> Result<(), RuntimeError> {
        for k in 0..self.kinds.len() {
            for copy in self.kinds[k].pages.reserve(seq, count)? {
                for region in self.regions.iter().filter(|r| r.kind == k) {
                    devices[region.device.0].copy_page(region.id, copy.from as usize, copy.to as usize)?;
                }
            }
        }
        Ok(())
    }

    /// Says that `count` more positions of a sequence are written. Layers with a window let go of the pages that no
    /// later position sees.
    pub fn advance(&mut self, seq: SeqId, count: usize, devices: &mut Devices) -> Result<(), RuntimeError> {
        for k in 0..self.kinds.len() {
            let Kind { window, pages } = &mut self.kinds[k];
            pages.advance(seq, count)?;
            if let Some(window) = *window {
                let freed = pages.forget(seq, (pages.len(seq)? + 1).saturating_sub(window))?;
                discard(&self.regions, k, freed, devices)?;
            }
        }
        Ok(())
    }

    /// Adds the page tables of a sequence, one a kind: a row of `pages` numbers, -1 where there is no page.
    pub fn add_tables(
        &self,
        seq: SeqId,
        pages: usize,
        tables: &mut [Vec<i32>; 2],
    ) -> Result<(), RuntimeError> {
        for (kind, table) in self.kinds.iter().zip(tables) {
            let end = table.len() + pages;
            table.extend(kind.pages.table(seq)?.iter().map(|page| *page as i32));
            table.resize(end, -1);
        }
        Ok(())
    }

    /// What a sequence has.
    pub fn held(&self, seq: SeqId) -> Result<Held, RuntimeError> {
        let windows = self.kinds.iter().find(|kind| kind.window.is_some());
        let gone = windows.map_or(Ok(0), |kind| kind.pages.gone(seq))?;
        Ok(Held { len: self.len(seq)?, window_first: gone * PAGE_POSITIONS })
    }

    /// A new sequence that has this, with pages of any contents.
    pub fn restore(
        &mut self,
        held: Held,
        n_ctx: usize,
        devices: &mut Devices,
    ) -> Result<SeqId, RuntimeError> {
        let Held { len, window_first: first } = held;
        if len > n_ctx {
            return Err(RuntimeError::ContextFull { needed: len, n_ctx });
        }
        let window = self.kinds.iter().find_map(|kind| kind.window);
        let seen = window.map_or(0, |window| (len + 1).saturating_sub(window));
        let latest = seen / PAGE_POSITIONS * PAGE_POSITIONS;
        if !first.is_multiple_of(PAGE_POSITIONS) || first > latest {
            return Err(RuntimeError::WindowMissing { len, first, latest });
        }
        let seq = self.create();
        for k in 0..self.kinds.len() {
            let Kind { window, pages } = &mut self.kinds[k];
            let gone = window.map_or(0, |_| first / PAGE_POSITIONS);
            if let Err(error) = pages.restore(seq, gone, len) {
                self.remove(seq, devices)?;
                return Err(error);
            }
        }
        Ok(seq)
    }

    /// Bytes of all that a sequence has.
    pub fn held_bytes(&self, held: Held) -> u64 {
        let positions = |r: &Placed| held.len - r.region.window.map_or(0, |_| held.window_first);
        self.regions.iter().map(|r| (positions(r) * r.region.bytes_per_position()) as u64).sum()
    }

    /// Each part of what a sequence has, in one order: the regions in turn, and the pages of each.
    pub fn parts(&self, seq: SeqId) -> Result<Vec<Part>, RuntimeError> {
        let mut parts = Vec::new();
        for placed in &self.regions {
            let pages = &self.kinds[placed.kind].pages;
            let (len, gone) = (pages.len(seq)?, pages.gone(seq)?);
            // A run that failed may have left more pages than positions.
            let used = pages.table(seq)?.iter().take(len.div_ceil(PAGE_POSITIONS)).enumerate().skip(gone);
            parts.extend(used.map(|(index, page)| {
                let positions = (len - index * PAGE_POSITIONS).min(PAGE_POSITIONS);
                let bytes = positions * placed.region.bytes_per_position();
                Part { region: placed.id, device: placed.device, page: *page as usize, positions, bytes }
            }));
        }
        Ok(parts)
    }

    fn free(
        &mut self,
        devices: &mut Devices,
        act: impl Fn(&mut Pages) -> Result<&[u32], RuntimeError>,
    ) -> Result<(), RuntimeError> {
        for (k, kind) in self.kinds.iter_mut().enumerate() {
            discard(&self.regions, k, act(&mut kind.pages)?, devices)?;
        }
        Ok(())
    }
}

/// Gives back the memory of pages in the regions of their kind.
fn discard(
    regions: &[Placed],
    kind: usize,
    pages: &[u32],
    devices: &mut Devices,
) -> Result<(), RuntimeError> {
    for region in regions.iter().filter(|r| r.kind == kind) {
        for page in pages {
            devices[region.device.0].discard_page(region.id, *page as usize)?;
        }
    }
    Ok(())
}

/// The most pages that a sequence needs at a time while it grows to `positions`, whatever its batches are. A layer
/// with a window holds it and one batch less one position, which may begin and end inside pages.
pub(crate) fn pages_needed(positions: usize, n_ubatch: usize, window: Option<usize>) -> usize {
    let all = positions.div_ceil(PAGE_POSITIONS);
    match window {
        None => all,
        Some(window) => all.min((window + n_ubatch - 1 + PAGE_POSITIONS - 2) / PAGE_POSITIONS + 1),
    }
}
