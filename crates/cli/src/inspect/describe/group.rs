//! Groups.

use super::communicator::{MembersOf, order};
use super::{Context, Fact, field};
use mpiscope_job::model::objects::Group;
use std::fmt;

/// The contents of the group's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    size: u32,
    members: Option<MembersOf>,
}

impl Summary {
    pub fn of(group: &Group, world: usize) -> Self {
        let members = group.members.clone().map(|members| MembersOf { world, members });
        Self { size: group.size, members }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.size, &self.members) {
            (0, _) => f.write_str("no members"),
            (1, Some(members)) => write!(f, "1 member, rank {members}"),
            (size, Some(members)) => write!(f, "{size} members, ranks {members}"),
            (size, None) => write!(f, "{size} members, which are unknown"),
        }
    }
}

pub fn text(context: &Context<'_>, group: &Group, lines: &mut Vec<Fact>) {
    let own = group.rank.map_or_else(|| "none: the process is not a member".into(), |rank| rank.to_string());
    lines.push(field("size", &group.size.to_string()));
    lines.push(field("own rank", &own));
    let members = match &group.members {
        Some(members) => format!("ranks of the world: {}", order(members)),
        None => "cannot be seen: the image does not hold them".to_owned(),
    };
    lines.push(field("members", &members));
    if group.handles > 1 {
        lines.push(field("to be freed", &format!("{} times", group.handles)));
    }
    context.one(lines, "other parent", group.other_parent.as_ref());
    context.many(lines, "communicators", &group.communicators);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_members_is_written_as_in_a_sentence() {
        let shown = |size, members: Option<&[i64]>| {
            let members = members.map(|members| MembersOf { world: 0, members: members.to_vec() });
            Summary { size, members }.to_string()
        };
        assert_eq!(shown(0, Some(&[])), "no members");
        assert_eq!(shown(1, Some(&[3])), "1 member, rank 3");
        assert_eq!(shown(2, Some(&[3, 0])), "2 members, ranks (3,0)");
        assert_eq!(shown(2, None), "2 members, which are unknown");
    }
}
