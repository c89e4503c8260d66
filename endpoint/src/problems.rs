//! The list of what is wrong with a job, as it is found.

/// What is wrong, each as `key: what is wrong`.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// Notes what is wrong with a key unless the condition holds.
    pub(crate) fn require(&mut self, holds: bool, key: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{key}: {}", otherwise()));
        }
    }

    /// All that was found.
    pub(crate) fn into_list(self) -> Vec<String> {
        self.0
    }
}
