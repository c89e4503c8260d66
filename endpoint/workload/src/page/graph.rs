//! Decides which resources of a page can be requested, given those that have arrived. Pure.
//!
//! A resource *runs* once it has arrived and all that blocks it has run: a document is parsed, a stylesheet applied, a
//! script executed. Computing takes no time, so it runs at that moment. When a resource runs, those that it refers to
//! become *wanted*: they can be requested.

use netwarp_wire::job::PageResource;

/// Tracks which resources of a page have arrived, have run, and can be requested.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    resources: &'a [PageResource],
    states: Vec<State>,
}

/// The state of a resource; the states follow each other in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// No resource that refers to this one has run.
    Unknown,
    Wanted,
    Arrived,
    Run,
}

impl<'a> Graph<'a> {
    /// Creates the graph of a page that begins to load: only its document can be requested.
    pub(super) fn new(resources: &'a [PageResource]) -> Self {
        Self { resources, states: vec![State::Unknown; resources.len()] }
    }

    /// Returns the indices of the resources that have become wanted since the last call, in the page's order.
    pub(super) fn take_wanted(&mut self) -> Vec<usize> {
        let is_found = |resource: &PageResource| {
            resource.initiator.is_none_or(|initiator| self.states[initiator as usize] == State::Run)
        };
        let unknown =
            |(index, resource): &(usize, &PageResource)| self.states[*index] == State::Unknown && is_found(resource);
        let wanted: Vec<usize> = self.resources.iter().enumerate().filter(unknown).map(|(index, _)| index).collect();
        wanted.iter().for_each(|index| self.states[*index] = State::Wanted);
        wanted
    }

    /// Records that a resource has arrived. It runs if nothing blocks it, and then others that it blocked may run.
    pub(super) fn arrived(&mut self, index: usize) {
        self.states[index] = State::Arrived;
        while let Some(next) = self.next_to_run() {
            self.states[next] = State::Run;
        }
    }

    /// Returns whether all resources have arrived.
    pub(super) fn is_loaded(&self) -> bool {
        self.states.iter().all(|state| *state >= State::Arrived)
    }

    fn next_to_run(&self) -> Option<usize> {
        let may_run = |index: &usize| {
            let blocked_by = &self.resources[*index].blocked_by;
            self.states[*index] == State::Arrived
                && blocked_by.iter().all(|before| self.states[*before as usize] == State::Run)
        };
        (0..self.states.len()).find(may_run)
    }
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::ResourceType;

    use super::*;

    fn resource(initiator: Option<u32>, blocked_by: &[u32]) -> PageResource {
        PageResource {
            path: "/".to_owned(),
            resource_type: ResourceType::Other,
            body_bytes: 1,
            file: None,
            status: 200,
            location: None,
            initiator,
            blocked_by: blocked_by.to_vec(),
            render_blocking: false,
            urgency: 3,
            incremental: false,
        }
    }

    #[test]
    fn a_script_runs_after_the_stylesheet_before_it() {
        // A document refers to a stylesheet and then to a script, which refers to a fourth resource.
        let page = [resource(None, &[]), resource(Some(0), &[]), resource(Some(0), &[1]), resource(Some(2), &[])];
        let mut graph = Graph::new(&page);
        assert_eq!(graph.take_wanted(), [0]);
        graph.arrived(0);
        assert_eq!(graph.take_wanted(), [1, 2]);
        graph.arrived(2);
        assert_eq!(graph.take_wanted(), [0; 0], "the stylesheet blocks the script");
        graph.arrived(1);
        assert_eq!(graph.take_wanted(), [3]);
        assert!(!graph.is_loaded());
        graph.arrived(3);
        assert!(graph.is_loaded());
    }

    #[test]
    fn what_waits_for_each_other_never_loads() {
        let page = [resource(None, &[]), resource(Some(0), &[2]), resource(Some(1), &[])];
        let mut graph = Graph::new(&page);
        graph.take_wanted();
        graph.arrived(0);
        assert_eq!(graph.take_wanted(), [1]);
        graph.arrived(1);
        assert_eq!((graph.take_wanted(), graph.is_loaded()), (Vec::new(), false));
    }
}
