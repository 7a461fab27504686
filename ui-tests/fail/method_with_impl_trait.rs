//! Methods with `impl Trait`.

struct Account(Vec<u64>);

#[gossamer::delegate]
impl Account {
    fn all(&self) -> impl Iterator<Item = u64> {
        self.0.clone().into_iter()
    }
    fn add(&mut self, all: impl IntoIterator<Item = u64>) {
        self.0.extend(all);
    }
}

fn main() {
    let mut account = Account(vec![]);
    account.add([1]);
    println!("{}", account.all().count());
}
