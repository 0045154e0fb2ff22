//! Memory of the device: the arena and the persistent regions.

use backend::BackendError;
use graph::Region;
use memmap2::MmapMut;

use crate::attention::PAGE;

/// Address space from the system, committed page by page as it is written.
pub(crate) struct Reserved {
    map: Option<MmapMut>,
    bytes: usize,
}

impl Reserved {
    /// Reserves; `what` is for the error. `small_pages` keeps one write from committing a huge page.
    pub fn new(what: &str, bytes: usize, small_pages: bool) -> Result<Reserved, BackendError> {
        if bytes == 0 {
            return Ok(Reserved { map: None, bytes });
        }
        let error = |e: std::io::Error| BackendError::OutOfMemory {
            device: "cpu".to_owned(),
            what: what.to_owned(),
            bytes,
            reason: e.to_string(),
        };
        let map = memmap2::MmapOptions::new().len(bytes).no_reserve_swap().map_anon().map_err(error)?;
        #[cfg(target_os = "linux")]
        if small_pages {
            // A kernel without huge pages refuses the advice, which then changes nothing.
            let _ = map.advise(memmap2::Advice::NoHugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = small_pages;
        Ok(Reserved { map: Some(map), bytes })
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The first byte. Dangling, but aligned, if nothing is reserved.
    pub fn base(&self) -> *mut u8 {
        match &self.map {
            Some(map) => map.as_ptr().cast_mut(),
            None => std::ptr::without_provenance_mut(64),
        }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.map.as_deref_mut().unwrap_or_default()
    }

    /// Gives the system back what it can of a range; it reads as zeros afterwards.
    fn discard(&mut self, from: usize, to: usize) {
        // The system works in pages of its own: only those wholly inside the range can go.
        const SYSTEM_PAGE: usize = 4096;
        let (from, to) = (from.next_multiple_of(SYSTEM_PAGE), to / SYSTEM_PAGE * SYSTEM_PAGE);
        if from >= to {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(map) = &self.map {
            // SAFETY: the map is anonymous and nothing borrows the range: `&mut self`. What is lost is
            // not read again before it is written. A refusal only keeps memory committed.
            let _ =
                unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
        }
    }
}

/// The pages of one cache region.
pub(crate) struct RegionMemory {
    pub region: Region,
    pub pages: usize,
    pub memory: Reserved,
}

impl RegionMemory {
    pub fn new(region: &Region, pages: usize) -> Result<RegionMemory, BackendError> {
        let memory = Reserved::new(&region.name, pages * page_bytes(region), true)?;
        Ok(RegionMemory { region: region.clone(), pages, memory })
    }

    pub fn page_bytes(&self) -> usize {
        page_bytes(&self.region)
    }

    pub fn discard_page(&mut self, page: usize) {
        let bytes = self.page_bytes();
        self.memory.discard(page * bytes, (page + 1) * bytes);
    }

    pub fn copy_page(&mut self, from: usize, to: usize) {
        let bytes = self.page_bytes();
        self.memory.bytes_mut().copy_within(from * bytes..(from + 1) * bytes, to * bytes);
    }

    /// The rows of the page's first positions, head by head.
    pub fn read_page(&mut self, page: usize, positions: usize, bytes: &mut [u8]) {
        let (heads, head_bytes, used) = self.heads(positions, bytes.len());
        let memory = &self.memory.bytes_mut()[page * heads * head_bytes..];
        for (rows, head) in bytes.chunks_exact_mut(used).zip(memory.chunks_exact(head_bytes)) {
            rows.copy_from_slice(&head[..used]);
        }
    }

    /// Takes the rows of the page's first positions, head by head.
    pub fn write_page(&mut self, page: usize, positions: usize, bytes: &[u8]) {
        let (heads, head_bytes, used) = self.heads(positions, bytes.len());
        let memory = &mut self.memory.bytes_mut()[page * heads * head_bytes..];
        for (rows, head) in bytes.chunks_exact(used).zip(memory.chunks_exact_mut(head_bytes)) {
            head[..used].copy_from_slice(rows);
        }
    }

    /// Heads of a page, bytes of one, and those of its first positions.
    fn heads(&self, positions: usize, bytes: usize) -> (usize, usize, usize) {
        let heads = self.region.heads;
        let row_bytes = self.region.bytes_per_position() / heads;
        let used = positions * row_bytes;
        assert!(
            (1..=PAGE).contains(&positions) && bytes == heads * used,
            "{bytes} bytes of {positions} positions"
        );
        (heads, PAGE * row_bytes, used)
    }
}

fn page_bytes(region: &Region) -> usize {
    region.bytes_per_position() * PAGE
}
