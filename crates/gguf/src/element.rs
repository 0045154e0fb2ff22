//! The element types a tensor can have: plain numbers and blocks of quantized ones.

use std::fmt;

macro_rules! element_types {
    ($($name:ident = $id:literal, $elements:literal, $bytes:literal;)*) => {
        /// The type of a tensor's elements, by its name in GGUF files.
        ///
        /// Elements lie in blocks along the first dimension: a block has
        /// [`block_elements`](Self::block_elements) elements in
        /// [`block_bytes`](Self::block_bytes) bytes. Plain numbers are blocks of one.
        #[allow(missing_docs, non_camel_case_types)] // The names are the documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ElementType { $($name,)* }

        impl ElementType {
            /// Every type, in the order of the numbers that files use.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$name,)*];

            /// The number that files use for the type.
            pub const fn id(self) -> u32 {
                match self { $(ElementType::$name => $id,)* }
            }

            /// The type with this number; `None` if there is none, or it left the format.
            pub const fn from_id(id: u32) -> Option<ElementType> {
                match id { $($id => Some(ElementType::$name),)* _ => None }
            }

            /// The usual name, as in `Q4_0`.
            pub const fn name(self) -> &'static str {
                match self { $(ElementType::$name => stringify!($name),)* }
            }

            /// How many elements a block has: 1, or what the first dimension must be a multiple of.
            pub const fn block_elements(self) -> u64 {
                match self { $(ElementType::$name => $elements,)* }
            }

            /// How many bytes a block takes.
            pub const fn block_bytes(self) -> u64 {
                match self { $(ElementType::$name => $bytes,)* }
            }
        }
    };
}

element_types! {
    F32 = 0, 1, 4;
    F16 = 1, 1, 2;
    Q4_0 = 2, 32, 18;
    Q4_1 = 3, 32, 20;
    Q5_0 = 6, 32, 22;
    Q5_1 = 7, 32, 24;
    Q8_0 = 8, 32, 34;
    Q8_1 = 9, 32, 40;
    Q2_K = 10, 256, 84;
    Q3_K = 11, 256, 110;
    Q4_K = 12, 256, 144;
    Q5_K = 13, 256, 176;
    Q6_K = 14, 256, 210;
    Q8_K = 15, 256, 292;
    IQ2_XXS = 16, 256, 66;
    IQ2_XS = 17, 256, 74;
    IQ3_XXS = 18, 256, 98;
    IQ1_S = 19, 256, 50;
    IQ4_NL = 20, 32, 18;
    IQ3_S = 21, 256, 110;
    IQ2_S = 22, 256, 82;
    IQ4_XS = 23, 256, 136;
    I8 = 24, 1, 1;
    I16 = 25, 1, 2;
    I32 = 26, 1, 4;
    I64 = 27, 1, 8;
    F64 = 28, 1, 8;
    IQ1_M = 29, 256, 56;
    BF16 = 30, 1, 2;
    TQ1_0 = 34, 256, 54;
    TQ2_0 = 35, 256, 66;
    MXFP4 = 39, 32, 17;
    NVFP4 = 40, 64, 36;
    Q1_0 = 41, 128, 18;
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of a type that old files can have and the format has since dropped.
pub(crate) fn removed_name(id: u32) -> Option<&'static str> {
    Some(match id {
        4 => "Q4_2",
        5 => "Q4_3",
        31 => "Q4_0_4_4",
        32 => "Q4_0_4_8",
        33 => "Q4_0_8_8",
        36 => "IQ4_NL_4_4",
        37 => "IQ4_NL_4_8",
        38 => "IQ4_NL_8_8",
        _ => return None,
    })
}
