//! Lists the metadata and tensors of GGUF files, and how long opening each took.

use std::time::Instant;

fn main() {
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        match gguf::open(&path) {
            Err(error) => println!("error: {error} [{:.1?}]", start.elapsed()),
            Ok(file) => {
                let took = start.elapsed();
                println!("{path}: version {}, opened in {took:.1?}", file.version());
                for (key, value) in file.metadata().iter() {
                    println!("  {key} = {}", value.describe());
                }
                for t in file.tensors() {
                    println!("  {} {} {:?} {} bytes", t.name, t.ty, t.dims, t.bytes);
                }
            }
        }
    }
}
