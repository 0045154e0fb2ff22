//! What the table of tensors says about one tensor.

use crate::{ElementType, Error};

/// Name, shape, type and place of one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name.
    pub name: String,
    /// Up to four dimensions, the one that is contiguous in memory first. None: a single element.
    pub dims: Vec<u64>,
    /// The type of the elements.
    pub ty: ElementType,
    /// Where the data begins, in bytes from the start of its file's data section.
    pub offset: u64,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// Which part of a split model holds the data; 0 for a single file.
    pub file: usize,
}

impl TensorInfo {
    /// A tensor at offset 0 of file 0, its size computed with checks on every product.
    pub(crate) fn new(name: String, dims: Vec<u64>, ty: ElementType) -> Result<Self, Error> {
        let bytes = bytes(&name, &dims, ty)?;
        Ok(TensorInfo { name, dims, ty, offset: 0, bytes, file: 0 })
    }

    /// How many elements the tensor has: the product of its dimensions.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// The size of a dimension, 1 for those that the file does not state.
    pub fn ne(&self, dim: usize) -> u64 {
        self.dims.get(dim).copied().unwrap_or(1)
    }
}

/// The size of a tensor. A dimension of 0 is legal and makes it 0; still the product of the other
/// dimensions must fit, so that no stride computed later can wrap.
fn bytes(name: &str, dims: &[u64], ty: ElementType) -> Result<u64, Error> {
    if dims.len() > 4 {
        return Err(Error::DimensionCount { tensor: name.to_owned(), found: dims.len() as u64 });
    }
    let too_large = || Error::TensorSize { tensor: name.to_owned(), dims: dims.to_vec(), ty: ty.name() };
    let fits = |n: u64| i64::try_from(n).is_ok();
    let mut elements: u64 = 1;
    for &dim in dims {
        elements = elements.checked_mul(dim.max(1)).filter(|&n| fits(n)).ok_or_else(too_large)?;
    }
    if !dims.first().unwrap_or(&1).is_multiple_of(ty.block_elements()) {
        return Err(Error::TensorRow {
            tensor: name.to_owned(),
            dims: dims.to_vec(),
            ty: ty.name(),
            block: ty.block_elements(),
        });
    }
    let blocks = elements.div_ceil(ty.block_elements());
    let bytes = blocks.checked_mul(ty.block_bytes()).filter(|&n| fits(n)).ok_or_else(too_large)?;
    Ok(if dims.contains(&0) { 0 } else { bytes })
}
