//! Layouts that are kept for comparison: nothing shared, buffers of exact classes, best fit over time.

use crate::pack::{Item, Layout};
use crate::size_class::{class_bytes, recycle};

/// One window after another, shared by nobody.
pub(crate) fn side_by_side(items: &[Item]) -> Layout {
    stack(items.iter().map(|item| item.bytes))
}

/// One buffer after another, each as large as its class; `None` when they do not add up within 64 bits.
pub(crate) fn by_class(items: &[Item], align: u64) -> Option<Layout> {
    let buffers = recycle(items, &classes(items, align)?);
    buffers.class.iter().try_fold(0u64, |sum, &class| sum.checked_add(class))?;
    Some(lay_out_buffers(&buffers.of_item, &buffers.class))
}

/// The buffers of the size classes, each only as large as the largest item that uses it.
pub(super) fn tight_buffers(items: &[Item], align: u64) -> Option<Layout> {
    let buffers = recycle(items, &classes(items, align)?);
    let mut sizes = vec![0; buffers.class.len()];
    for (item, &buffer) in items.iter().zip(&buffers.of_item) {
        sizes[buffer] = item.bytes.max(sizes[buffer]);
    }
    Some(lay_out_buffers(&buffers.of_item, &sizes))
}

/// Walks the items in order of their first step. An item goes into the smallest free block that holds it, or else where
/// the last one begins, which has no end; after its last step its bytes are free again and merge with free neighbours.
pub(crate) fn best_fit(items: &[Item]) -> Layout {
    let mut by_first: Vec<usize> = (0..items.len()).collect();
    by_first.sort_by_key(|&i| items[i].first);
    let mut by_last: Vec<usize> = (0..items.len()).collect();
    by_last.sort_by_key(|&i| items[i].last);

    let mut layout = Layout { offsets: vec![0; items.len()], bytes: 0 };
    let mut free = FreeBlocks { blocks: vec![(0, u64::MAX)] };
    let mut ended = by_last.into_iter().peekable();
    for i in by_first {
        while let Some(done) = ended.next_if(|&done| items[done].last < items[i].first) {
            free.release(layout.offsets[done], items[done].bytes);
        }
        if items[i].bytes > 0 {
            layout.offsets[i] = free.take(items[i].bytes);
            layout.bytes = layout.bytes.max(layout.offsets[i] + items[i].bytes);
        }
    }
    layout
}

/// Free ranges (start, end) by offset, no two of which touch. The last one has no end.
struct FreeBlocks {
    blocks: Vec<(u64, u64)>,
}

impl FreeBlocks {
    fn take(&mut self, bytes: u64) -> u64 {
        let end = self.blocks.len() - 1;
        let fitting = (0..end).filter(|&b| self.blocks[b].1 - self.blocks[b].0 >= bytes);
        let b = fitting.min_by_key(|&b| self.blocks[b].1 - self.blocks[b].0).unwrap_or(end);
        let block = &mut self.blocks[b];
        let start = block.0;
        block.0 += bytes;
        if block.0 == block.1 {
            self.blocks.remove(b);
        }
        start
    }

    fn release(&mut self, start: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let end = start + bytes;
        let at = self.blocks.partition_point(|block| block.0 < start);
        // The last block is never taken whole, so there is one behind every range that is released.
        if self.blocks[at].0 == end {
            self.blocks[at].0 = start;
        } else {
            self.blocks.insert(at, (start, end));
        }
        if at > 0 && self.blocks[at - 1].1 == start {
            self.blocks[at - 1].1 = self.blocks[at].1;
            self.blocks.remove(at);
        }
    }
}

fn classes(items: &[Item], align: u64) -> Option<Vec<u64>> {
    items.iter().map(|item| class_bytes(item.bytes, align)).collect()
}

fn stack(sizes: impl Iterator<Item = u64>) -> Layout {
    let mut layout = Layout { offsets: Vec::new(), bytes: 0 };
    for size in sizes {
        layout.offsets.push(layout.bytes);
        layout.bytes += size;
    }
    layout
}

fn lay_out_buffers(of_item: &[usize], sizes: &[u64]) -> Layout {
    let Layout { offsets, bytes } = stack(sizes.iter().copied());
    Layout { offsets: of_item.iter().map(|&buffer| offsets[buffer]).collect(), bytes }
}
