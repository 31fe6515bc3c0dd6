//! Runs a scenario from a file and prints the totals of its flows: `cargo run --release --example run_scenario -- FILE`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: run_scenario FILE")?;
    let scenario = bakeoff_sim::Scenario::from_json(&std::fs::read_to_string(path)?)?;
    let recording = bakeoff_sim::run(&scenario)?;
    for table in &recording.tables {
        println!("== {}", table.name);
        if matches!(table.name, "flows" | "hops" | "verdicts") {
            for (name, column) in &table.columns {
                println!("{name} {column:?}");
            }
        }
    }
    Ok(())
}
