//! One label for an object that several processes share, even if only some of them have named it.

use super::{Call, Need, Observation};
use crate::model::objects::{SharedNames, quoted, unquoted};

/// Gives shared objects the same label in the observations of all processes. Returns their names.
pub fn share_names(observations: &mut [Observation]) -> SharedNames {
    let mut names = SharedNames::default();
    for (identity, label) in observations.iter().flat_map(labels) {
        if let Some(name) = unquoted(label) {
            names.add(identity, name);
        }
    }
    observations.iter_mut().for_each(|seen| seen.call_by(&names));
    names
}

/// The identities of its objects and their labels.
fn labels(seen: &Observation) -> impl Iterator<Item = (u64, &String)> {
    let windows = seen.windows.iter().map(|window| (window.identity, &window.name));
    seen.communicators.iter().map(|comm| (comm.identity, &comm.name)).chain(windows)
}

impl Observation {
    fn call_by(&mut self, names: &SharedNames) {
        let windows = self.windows.iter_mut().map(|window| (window.identity, &mut window.name));
        let communicators = self.communicators.iter_mut().map(|comm| (comm.identity, &mut comm.name));
        let mut changed: Vec<(String, String)> = Vec::new();
        for (identity, label) in communicators.chain(windows) {
            if let Some(shared) = names.of(identity).map(quoted).filter(|shared| shared != label) {
                changed.push((std::mem::replace(label, shared.clone()), shared));
            }
        }
        for text in self.threads.iter_mut().filter_map(|thread| thread.call.as_mut()).flat_map(texts) {
            // Each text names one object.
            if let Some((own, shared)) = changed.iter().find(|(own, _)| text.contains(own)) {
                *text = text.replace(own, shared);
            }
        }
    }
}

/// The texts of a call that may contain a label.
fn texts(call: &mut Call) -> impl Iterator<Item = &mut String> {
    let needs = call.needs.iter_mut().filter_map(|need| match need {
        Need::Lock { name, .. } | Need::Epoch { name, .. } => Some(name),
        Need::Outside { what, .. } => Some(what),
        _ => None,
    });
    needs.chain(call.wrong.iter_mut().map(|wrong| &mut wrong.what))
}

#[cfg(test)]
mod tests {
    use super::super::{Action, Communicator, Thread, Window};
    use super::*;

    #[test]
    fn an_object_that_one_process_has_named_is_called_so_in_the_calls_of_all() {
        let seen = |comm: &str, window: &str| {
            let what = format!("the other members of {comm}");
            let outside = Need::Outside { what, kind: Action::Unknown };
            let epoch = Need::Epoch { window: 9, access: true, name: window.into() };
            let call = Call { needs: vec![outside, epoch], ..Call::default() };
            Observation {
                communicators: vec![Communicator {
                    identity: 7,
                    name: comm.into(),
                    ..Communicator::default()
                }],
                windows: vec![Window { identity: 9, name: window.into(), ..Window::default() }],
                threads: vec![Thread { call: Some(call), ..Thread::default() }],
                ..Observation::default()
            }
        };
        let mut ranks = [seen("id:0000002a (size 2)", "\"halo\""), seen("\"solver\"", "window id:0000002b")];
        share_names(&mut ranks);
        let wanted = seen("\"solver\"", "\"halo\"");
        assert_eq!(ranks, [wanted.clone(), wanted]);
    }
}
