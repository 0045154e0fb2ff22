//! Loops over the vocabulary, compiled for the vector units that a processor may have.

/// A function compiled twice, for AVX2 and for any processor of its kind; the first is taken where it can
/// run. Both have the same bits: the compiler neither contracts nor reorders operations on floats.
///
/// What its loops call must be `#[inline(always)]`, to be compiled for AVX2 with them.
macro_rules! vectorized {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        #[allow(unsafe_code)] // A function for AVX2 cannot be called in safe code.
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn portable($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    portable($($argument),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}

pub(crate) use vectorized;
