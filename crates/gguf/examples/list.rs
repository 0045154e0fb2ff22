//! Lists the metadata and tensors of GGUF files, and how long opening each took.

use std::io::{self, Write};
use std::time::Instant;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let file = match gguf::open(&path) {
            Ok(file) => file,
            Err(error) => {
                writeln!(out, "error: {error} [{:.1?}]", start.elapsed())?;
                continue;
            }
        };
        let took = start.elapsed();
        writeln!(out, "{path}: version {}, opened in {took:.1?}", file.version())?;
        for (key, value) in file.metadata().iter() {
            writeln!(out, "  {key} = {}", value.describe())?;
        }
        for t in file.tensors() {
            writeln!(out, "  {} {} {:?} {} bytes", t.name, t.ty, t.dims, t.bytes)?;
        }
    }
    Ok(())
}
