//! The programs of an engine: compiled for its devices, with their weights registered.

use std::collections::HashMap;
use std::sync::Arc;

use backend::{Device, WeightHandle};
use compile::{DeviceId, Options, Program};
use graph::Graph;

use crate::blueprint::{kind_graph, options};
use crate::engine::EngineParts;
use crate::program_cache::{GraphKind, ProgramCache, ProgramKey};
use crate::{Params, RuntimeError};

/// Programs by their parameters, and the weights that devices know by now.
#[derive(Default)]
pub(crate) struct Programs {
    cache: ProgramCache,
    weights: HashMap<(String, DeviceId), WeightHandle>,
}

impl Programs {
    /// How often a program had to be made.
    pub fn misses(&self) -> usize {
        self.cache.misses()
    }

    /// The program of one of the model's graphs.
    pub fn get(
        &mut self,
        parts: &mut EngineParts,
        kind: GraphKind,
        params: &Params,
    ) -> Result<Arc<Program>, RuntimeError> {
        let key = ProgramKey {
            kind,
            body: params.body,
            output: params.output,
            capacity: params.capacity(kind),
            fusions: params.fusions,
            verify: params.verify,
            placement_version: 0,
            weights_version: 0,
        };
        let weights = &mut self.weights;
        self.cache.get(key, || {
            let graph = kind_graph(&parts.model, kind, params)?;
            let mut program = compile_for(parts, graph, &options(kind, params))?;
            let handles = register(parts, weights, &program)?;
            program.bind(&handles);
            Ok(program)
        })
    }
}

fn compile_for(parts: &EngineParts, graph: Graph, options: &Options) -> Result<Program, RuntimeError> {
    let devices: Vec<&dyn Device> = parts.devices.iter().map(|d| d.as_ref() as &dyn Device).collect();
    let preferred: Vec<DeviceId> = graph.node_ids().map(|id| (parts.placement)(&graph, id)).collect();
    Ok(compile::compile(graph, &devices, &|id| preferred[id.0 as usize], options)?)
}

/// The handles of a program's weights; each weight is made known to a device once.
fn register(
    parts: &mut EngineParts,
    known: &mut HashMap<(String, DeviceId), WeightHandle>,
    program: &Program,
) -> Result<Vec<WeightHandle>, RuntimeError> {
    let handle = |weight: &compile::ProgramWeight| {
        let key = (weight.name.clone(), weight.device);
        if let Some(handle) = known.get(&key) {
            return Ok(*handle);
        }
        let bytes = parts.weights.bytes(&weight.name);
        let bytes = bytes.ok_or_else(|| RuntimeError::MissingWeight(weight.name.clone()))?;
        let handle = parts.devices[weight.device.0].register_weight(&weight.name, bytes)?;
        known.insert(key, handle);
        Ok(handle)
    };
    program.weights.iter().map(handle).collect()
}
