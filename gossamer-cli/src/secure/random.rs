//! Random names and tokens.

use crate::exit::{FAILED, Failure};

/// Twice `N` hexadecimal digits.
///
/// # Errors
/// If the kernel gives no random bytes.
pub fn hexadecimal<const N: usize>() -> Result<String, Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(FAILED, format!("the kernel gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
