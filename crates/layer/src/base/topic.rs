//! Topics of variables and events. The tool interface has a category for each topic.

macro_rules! topics {
    ($($topic:ident = $name:literal, $desc:literal;)*) => {
        /// A topic.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Topic {
            $(#[doc = $desc] $topic),*
        }

        impl Topic {
            /// All topics.
            pub const ALL: &[Self] = &[$(Self::$topic),*];

            /// The name of the topic's category.
            pub fn name(self) -> &'static str {
                match self { $(Self::$topic => concat!("mpiscope.", $name)),* }
            }

            /// The description of the topic's category.
            pub fn desc(self) -> &'static str {
                match self { $(Self::$topic => $desc),* }
            }
        }
    };
}

topics! {
    Calls = "calls", "MPI calls: how many, how long, what the process is doing";
    Messages = "messages", "Messages between ranks: how many, how large, what waits";
    Requests = "requests", "Requests: what is pending";
    Collectives = "collectives", "Collective operations by communicator";
    Objects = "objects", "MPI objects: what exists";
    OneSided = "rma", "One-sided communication";
    Files = "files", "Files";
    Process = "process", "The process: thread, start and end, errors, connections";
    Recording = "recording", "What mpiscope records, and what it lost";
}
