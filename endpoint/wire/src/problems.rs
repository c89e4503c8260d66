//! The list of problems found in a job.

/// The problems, each as `key: what is wrong`.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Adds a problem with a key unless the condition holds.
    pub fn require(&mut self, holds: bool, key: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{key}: {}", otherwise()));
        }
    }

    /// Adds a problem that another list has.
    pub fn add(&mut self, problem: String) {
        self.0.push(problem);
    }

    /// Returns all problems found.
    pub fn into_list(self) -> Vec<String> {
        self.0
    }
}
