//! Inserts what the devices' kernels need.

use std::collections::HashMap;

use graph::{DType, Editor, Node, ValueId, op::Quantize};

use crate::{DeviceId, Devices, Placed};

/// Makes every product read activations of the type that its device wants for its weight: a `quantize` node
/// for each (value, device) that needs one, before its first reader.
pub fn lower(placed: Placed, devices: &Devices) -> Placed {
    let mut made: HashMap<(ValueId, DeviceId), ValueId> = HashMap::new();
    let ids: Vec<_> = placed.graph.node_ids().collect();
    let mut editor = Editor::new(placed.graph, placed.devices);
    for id in ids {
        let node = editor.graph().node(id);
        if !node.op.facts().product {
            continue;
        }
        let device = *editor.side(id);
        let (x, weight) = (node.inputs[0], node.inputs[1]);
        let wanted = devices[device.0].activations(editor.graph().value(weight).dtype);
        if wanted == editor.graph().value(x).dtype {
            continue;
        }
        assert_eq!(wanted, DType::A32, "the only format of quantized activations");
        let quantized = match made.get(&(x, device)) {
            Some(known) => *known,
            None => {
                let (source, layer) = (editor.graph().value(x), node.layer);
                let (name, shape) = (format!("{}.quantize", source.name), source.shape);
                let value = editor.value(name.clone(), shape, wanted);
                let op = Quantize.into();
                let node = Node { op, inputs: vec![x], outputs: vec![value], name, layer };
                editor.insert_before(id, node, device);
                made.insert((x, device), value);
                value
            }
        };
        editor.set_input(id, 0, quantized);
    }
    let (graph, devices) = editor.finish();
    Placed { graph, devices }
}
