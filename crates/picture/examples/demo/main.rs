//! Draws the plan of a made-up model: `cargo run -p picture --example demo -- plan.html plan.svg [devices]`.

mod model;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [html, svg, rest @ ..] = args.as_slice() else {
        eprintln!("usage: demo HTML SVG [DEVICES]");
        std::process::exit(2);
    };
    let devices = rest.first().and_then(|text| text.parse().ok()).unwrap_or(1);
    let picture = model::picture(&model::Shape { layers: 24, devices, ..model::Shape::default() });
    std::fs::write(html, picture::html(&picture))?;
    std::fs::write(svg, picture::svg(&picture))
}
