//! Collects the problems found in a job.

/// The problems found so far: a text `key: problem` for each.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Reports a problem with the job's `key`, worded by `otherwise`, if `holds` is false.
    pub fn require(&mut self, holds: bool, key: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{key}: {}", otherwise()));
        }
    }

    /// Adds a problem that is already worded as `key: problem`.
    pub fn add(&mut self, problem: String) {
        self.0.push(problem);
    }

    /// Returns all problems found.
    pub fn into_list(self) -> Vec<String> {
        self.0
    }
}
