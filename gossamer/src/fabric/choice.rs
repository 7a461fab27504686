//! Which fabrics may be used, as the environment says it.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// `GOSSAMER_FABRIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FabricChoice {
    /// Shared memory within a machine; between machines RDMA, or else TCP.
    #[default]
    Auto,
    /// Shared memory only.
    Shm,
    /// TCP only.
    Tcp,
    /// RDMA only, also within a machine.
    Verbs,
}

const FABRIC: &str = "GOSSAMER_FABRIC";
/// Its name when there were two fabrics.
const SHARE_MEMORY: &str = "GOSSAMER_SHARE_MEMORY";

impl FabricChoice {
    /// What the environment says, if it says anything.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub(crate) fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        if let Some(text) = variable(FABRIC) {
            return text.parse().map(Some);
        }
        match variable(SHARE_MEMORY).as_deref().map(str::trim) {
            None => Ok(None),
            Some("0") => Ok(Some(Self::Tcp)),
            Some("1") => Ok(Some(Self::Auto)),
            Some(text) => Err(format!("{SHARE_MEMORY}={text:?} is neither 0 nor 1")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shm => "shm",
            Self::Tcp => "tcp",
            Self::Verbs => "verbs",
        }
    }
}

impl FromStr for FabricChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Auto, Self::Shm, Self::Tcp, Self::Verbs];
        let found = all.into_iter().find(|choice| choice.name() == text.trim());
        found.ok_or_else(|| format!("{FABRIC}={text:?} is not `auto`, `shm`, `tcp` or `verbs`"))
    }
}

impl Display for FabricChoice {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<FabricChoice>, String> {
        FabricChoice::find(&|asked: &str| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_choice_is_read_as_it_is_written_and_the_old_variable_counts_without_the_new_one() {
        for choice in [FabricChoice::Auto, FabricChoice::Shm, FabricChoice::Tcp, FabricChoice::Verbs] {
            assert_eq!(found(&[(FABRIC, &format!(" {choice} "))]), Ok(Some(choice)));
        }
        assert_eq!(found(&[]), Ok(None));
        assert_eq!(found(&[(SHARE_MEMORY, "0")]), Ok(Some(FabricChoice::Tcp)));
        assert_eq!(found(&[(SHARE_MEMORY, "1")]), Ok(Some(FabricChoice::Auto)));
        assert_eq!(found(&[(SHARE_MEMORY, "0"), (FABRIC, "verbs")]), Ok(Some(FabricChoice::Verbs)));
    }

    #[test]
    fn a_bad_choice_is_told_with_its_variable_its_value_and_what_may_be_written() {
        for (name, value, allowed) in
            [(FABRIC, "rdma", "`verbs`"), (FABRIC, "", "`auto`"), (SHARE_MEMORY, "yes", "0 nor 1")]
        {
            let error = found(&[(name, value)]).err().unwrap_or_default();
            assert!(
                error.starts_with(&format!("{name}={value:?} is ")) && error.contains(allowed),
                "{error}"
            );
        }
    }
}
