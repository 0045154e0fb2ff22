//! What comes out of compilation.

use std::sync::Arc;

use backend::{At, Call, WeightHandle, Window};
use graph::{DType, Extents, Region, Shape};
use serde::Serialize;

use crate::{DeviceId, Lives};

/// Calls with every byte placed. One program serves every batch within its capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Program {
    /// The largest batch.
    pub capacity: Extents,
    /// Runs of consecutive calls on one device, in execution order.
    pub splits: Vec<Split>,
    /// Values to fill before the run.
    pub inputs: Vec<ProgramInput>,
    /// Values to read after it.
    pub outputs: Vec<ProgramOutput>,
    /// Weights that the calls name by their number in this list.
    pub weights: Vec<ProgramWeight>,
    /// The persistent regions and where they live; a region that no call touches is on no device.
    pub regions: Vec<(Region, Option<DeviceId>)>,
    /// Memory of each device.
    pub arenas: Vec<Arena>,
    /// Which windows begin and end at which call; there only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lives: Option<Lives>,
}

/// What a device's arena needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arena {
    /// Bytes that the plan takes.
    pub bytes: u64,
    /// Bytes that no plan can do without.
    pub bytes_lower_bound: u64,
    /// Bytes with a buffer for each value.
    pub bytes_naive: u64,
}

/// Consecutive calls on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// Where.
    pub device: DeviceId,
    /// Values that come from other devices first.
    pub copies: Vec<CopyIn>,
    /// What to run.
    pub calls: Arc<[Call]>,
}

/// A value that is brought to a device before a split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyIn {
    /// Where it was written.
    pub from_device: DeviceId,
    /// Its window there.
    pub from: Window,
    /// Its staging window on the split's device.
    pub to: Window,
    /// Dimensions.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
}

/// A value that is filled before the run, on each device that reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramInput {
    /// How to find it.
    pub name: String,
    /// Dimensions.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Where it goes.
    pub windows: Vec<(DeviceId, Window)>,
}

/// A value that is read after the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramOutput {
    /// Its name in the graph.
    pub name: String,
    /// Dimensions.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Where it is.
    pub device: DeviceId,
    /// Its window.
    pub window: Window,
}

/// A weight that the program reads on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramWeight {
    /// The tensor's name.
    pub name: String,
    /// Who reads it.
    pub device: DeviceId,
}

impl Program {
    /// The input of that name, if the program reads it.
    pub fn input(&self, name: &str) -> Option<&ProgramInput> {
        self.inputs.iter().find(|i| i.name == name)
    }

    /// Replaces each weight's number in [`Program::weights`] by the handle that its device gave.
    pub fn bind(&mut self, handles: &[WeightHandle]) {
        assert_eq!(handles.len(), self.weights.len());
        for split in &mut self.splits {
            let mut calls = split.calls.to_vec();
            for operand in calls.iter_mut().flat_map(|c| &mut c.inputs) {
                if let At::Weight(number) = &mut operand.at {
                    *number = handles[number.0 as usize];
                }
            }
            split.calls = calls.into();
        }
    }

    /// Calls of all splits.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.splits.iter().flat_map(|s| s.calls.iter())
    }
}
