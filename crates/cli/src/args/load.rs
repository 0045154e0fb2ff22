//! How a model is loaded.

use clap::Args;
use minfer::{LoadOptions, Residence, RopeOverrides, RopeScalingKind};

use crate::values;

#[derive(Args, Clone, Default)]
pub struct LoadArgs {
    /// Read the whole file into memory instead of mapping it
    #[arg(long)]
    pub no_mmap: bool,
    /// Keep the weights in memory; where the system forbids that, a note says so
    #[arg(long)]
    pub mlock: bool,
    /// How positions are stretched, otherwise than the file says: none, linear, yarn
    #[arg(long, value_parser = values::rope_scaling, value_name = "KIND")]
    pub rope_scaling: Option<RopeScalingKind>,
    /// Base of the frequencies of positions; 0: the file's
    #[arg(long, allow_negative_numbers = true, value_parser = values::at_least_0, value_name = "X")]
    pub rope_freq_base: Option<f32>,
    /// What positions are multiplied by, 1 over the factor of the stretch; 0: the file's
    #[arg(long, allow_negative_numbers = true, value_parser = values::at_least_0, value_name = "X")]
    pub rope_freq_scale: Option<f32>,
}

impl LoadArgs {
    pub fn options(&self) -> LoadOptions {
        let stated = |x: Option<f32>| x.filter(|x| *x > 0.0);
        LoadOptions {
            residence: if self.no_mmap { Residence::Memory } else { Residence::Mapped },
            rope: RopeOverrides {
                scaling: self.rope_scaling,
                freq_base: stated(self.rope_freq_base),
                freq_scale: stated(self.rope_freq_scale),
            },
        }
    }
}
