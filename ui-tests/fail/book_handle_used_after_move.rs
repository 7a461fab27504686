#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let fiber = gossamer::spawn(move || total.apply(|total| *total += 1));
    fiber.join();
    println!("{}", total.apply(|total| *total));
}
