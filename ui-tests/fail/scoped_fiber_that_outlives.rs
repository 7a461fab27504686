//! What a scoped fiber borrows is alive outside of the scope.

#[gossamer::main]
fn main() {
    gossamer::scope(|scope| {
        let mut inner = vec![1];
        scope.spawn(|| inner.push(2));
    });
}
