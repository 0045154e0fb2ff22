//! From a preset to the bytes of a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use gguf::{ElementType, Metadata, TensorInfo, Writer};

use crate::mix::Mix;
use crate::preset::{Preset, presets};
use crate::rand::Rand;
use crate::tensors::{Fill, Tensor, tensors};
use crate::{Error, blocks, keys, mix, tokenizer};

/// Writes a model to a file, `layers` instead of the preset's number of them if given. Tensors are
/// made and written in pieces of about 16 MB. The file appears under its name when it is complete.
pub fn write(
    arch: &str,
    preset: &str,
    quant: &str,
    seed: u64,
    layers: Option<usize>,
    out: &Path,
) -> Result<(), Error> {
    let model = Model::new(arch, preset, quant, seed, layers)?;
    let mut part = out.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::Io { path, error }
    };
    let written = File::create(part).map_err(io(part)).and_then(|file| model.write_to(file));
    if let Err(error) = written {
        // The first error is the one to tell; a rest that cannot be removed changes nothing.
        let _ = fs::remove_file(part);
        return Err(error);
    }
    fs::rename(part, out).map_err(io(out))
}

/// The bytes that [`write()`] would write: for small models.
pub fn build(
    arch: &str,
    preset: &str,
    quant: &str,
    seed: u64,
    layers: Option<usize>,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    Model::new(arch, preset, quant, seed, layers)?.write_to(&mut out)?;
    Ok(out)
}

/// The keys and the tensors of the file that [`write()`] would write, without tokenizer and bytes: what plans need to
/// know, of models of any size.
pub fn header(
    arch: &str,
    preset: &str,
    quant: &str,
    layers: Option<usize>,
) -> Result<(Metadata, Vec<TensorInfo>), Error> {
    let model = Model::new(arch, preset, quant, 0, layers)?;
    let mut w = Writer::new();
    keys::add(&mut w, &model.preset, model.mix, model.seed)?;
    model.add_tensors(&mut w)?;
    Ok((w.metadata().clone(), w.tensors().to_vec()))
}

struct Model {
    preset: Preset,
    mix: &'static Mix,
    seed: u64,
}

impl Model {
    fn new(arch: &str, preset: &str, quant: &str, seed: u64, layers: Option<usize>) -> Result<Model, Error> {
        let found = presets().iter().find(|p| p.arch == arch && p.name == preset);
        let mut preset = *found.ok_or_else(|| Error::Preset {
            arch: arch.to_owned(),
            preset: preset.to_owned(),
            known: presets().iter().map(|p| format!("{}/{}", p.arch, p.name)).collect::<Vec<_>>().join(", "),
        })?;
        preset.layers = layers.unwrap_or(preset.layers);
        if preset.layers == 0 {
            return Err(Error::NoLayers);
        }
        Ok(Model { preset, mix: mix::find(quant)?, seed })
    }

    fn write_to(&self, sink: impl Write) -> Result<(), Error> {
        let mut w = Writer::new();
        keys::add(&mut w, &self.preset, self.mix, self.seed)?;
        tokenizer::add(&mut w, &self.preset)?;
        let list = self.add_tensors(&mut w)?;
        let mut next = list.iter();
        w.write_to(sink, |info, sink| {
            let tensor = next.next().expect("the writer asks once for each tensor");
            fill(tensor, info, self.seed, sink)
        })?;
        Ok(())
    }

    fn add_tensors(&self, w: &mut Writer) -> Result<Vec<Tensor>, Error> {
        let list = tensors(&self.preset);
        for tensor in &list {
            let ty = match tensor.fill {
                Fill::Matrix { kind, .. } => self.mix.matrix(kind, tensor.dims[0], &self.preset),
                Fill::Vector { .. } | Fill::Values(_) => ElementType::F32,
            };
            w.tensor(tensor.name.as_str(), &tensor.dims, ty)?;
        }
        Ok(list)
    }
}

fn fill(tensor: &Tensor, info: &TensorInfo, seed: u64, sink: &mut impl Write) -> io::Result<()> {
    let bytes = |x: f32| x.to_le_bytes();
    match &tensor.fill {
        Fill::Values(values) => {
            let values: Vec<u8> = values.iter().copied().flat_map(bytes).collect();
            sink.write_all(&values)
        }
        &Fill::Vector { std, mean } => {
            let mut r = Rand::new(seed, &tensor.name);
            let n = tensor.dims[0] as usize;
            let values: Vec<u8> = blocks::flat(&mut r, n, std).map(|x| x + mean).flat_map(bytes).collect();
            sink.write_all(&values)
        }
        &Fill::Matrix { std, .. } => {
            let mut r = Rand::new(seed, &tensor.name);
            let make = blocks::blocks(info.ty).expect("mixes name only types that can be made");
            let mut left = (info.elements() / info.ty.block_elements()) as usize;
            let block = info.ty.block_bytes().max(info.ty.block_elements());
            // The size of the pieces decides which random words go where: it is part of the result.
            let piece = (1 << 24) / block as usize;
            let mut out = Vec::new();
            while left > 0 {
                let n = left.min(piece);
                out.clear();
                make(&mut r, n, std, &mut out);
                sink.write_all(&out)?;
                left -= n;
            }
            Ok(())
        }
    }
}
