//! The facts that an image contains about an object, as text.

use crate::said::{Object, Said};
use mpiscope_image::layout::{FunctionRecord, Loss, SectionKind, Text, Words};
use mpiscope_image::objects::*;
use mpiscope_image::{Image, Record, Snapshot};
use std::collections::BTreeMap;

/// The image of a rank.
pub struct Images {
    image: Image<Vec<u8>>,
    functions: Vec<String>,
}

/// A record that starts with a head.
trait Headed: Record {
    fn head(&self) -> &Head;
}

macro_rules! headed {
    ($($record:ty),*) => { $(impl Headed for $record { fn head(&self) -> &Head { &self.head } })* };
}
headed!(Comm, Group, Datatype, Op, Errhandler, Info, File, Window, Session, Keyval, Attribute);

fn signed(words: &[u64]) -> String {
    words.iter().map(|w| (*w as i64).to_string()).collect::<Vec<_>>().join(",")
}

fn word(word: u64) -> String {
    (word as i64).to_string()
}

fn int(word: u32) -> String {
    word.cast_signed().to_string()
}

impl Images {
    pub fn open(bytes: Vec<u8>) -> Self {
        let image = Image::open(bytes).unwrap();
        let functions = image.all::<FunctionRecord>(SectionKind::FUNCTIONS).unwrap();
        let functions = functions.iter().map(|f| f.value.name.text().into_owned()).collect();
        Self { image, functions }
    }

    pub fn all<T: Record>(&self, kind: SectionKind) -> Vec<Snapshot<T>> {
        self.image.all::<T>(kind).unwrap()
    }

    fn text(&self, text: &Text) -> String {
        self.image.text(text, 1 << 16).unwrap()
    }

    fn words(&self, words: &Words) -> Vec<u64> {
        self.image.words(words, 1 << 16).unwrap()
    }

    fn pairs(&self, text: &Text) -> String {
        let bytes = self.text(text).into_bytes();
        let word = |bytes| String::from_utf8_lossy(bytes).replace(' ', "_");
        pairs(&bytes).map(|(k, v)| format!("{}:{};", word(k), word(v))).collect()
    }

    fn function(&self, number: u32) -> &str {
        number.checked_sub(1).map_or("none", |n| &self.functions[n as usize])
    }

    /// The record that a handle maps to, or the last one that it mapped to.
    fn record<T: Headed>(&self, kind: SectionKind, object: &Object) -> T {
        let all = self
            .all::<T>(kind)
            .into_iter()
            .map(|s| s.value)
            .filter(|r| r.head().handle.get() == object.handle && r.head().life.get() != Life::EMPTY.0);
        let wanted = object.value("life").unwrap_or("1");
        let mut found: Vec<T> = all.filter(|r| r.head().life.get().to_string() == wanted).collect();
        found.sort_by_key(|r| r.head().uid.get());
        found.pop().unwrap_or_else(|| panic!("{}: no such object", object.label))
    }

    /// Checks everything that the program reported about an object.
    pub fn check(&self, said: &Said, object: &Object) {
        for (key, value) in object.values().filter(|(key, _)| *key != "same") {
            let expected: Vec<String> = value
                .split(',')
                .map(|part| match part.strip_prefix('@') {
                    Some(label) => word(self.uid(said.find(label))),
                    None => part.to_owned(),
                })
                .collect();
            assert_eq!(
                self.fact(object, key),
                expected.join(","),
                "{}: {key}\n{}",
                object.label,
                self.describe(object)
            );
        }
    }

    /// Everything in the image that has the handle of an object.
    fn describe(&self, object: &Object) -> String {
        let all = self.all::<Datatype>(SectionKind::DATATYPES);
        let found = all.iter().filter(|s| s.value.head.handle.get() == object.handle);
        found.map(|s| format!("{:?}\n", s.value)).collect()
    }

    pub fn uid(&self, object: &Object) -> u64 {
        self.with_head(object, |head| head.uid.get())
    }

    pub fn identity(&self, object: &Object) -> u64 {
        self.with_head(object, |head| head.identity.get())
    }

    fn with_head<R>(&self, object: &Object, look: impl FnOnce(&Head) -> R) -> R {
        match object.kind.as_str() {
            "comm" => look(&self.record::<Comm>(SectionKind::COMMS, object).head),
            "group" => look(&self.record::<Group>(SectionKind::GROUPS, object).head),
            "datatype" => look(&self.record::<Datatype>(SectionKind::DATATYPES, object).head),
            "op" => look(&self.record::<Op>(SectionKind::OPS, object).head),
            "errhandler" => look(&self.record::<Errhandler>(SectionKind::ERRHANDLERS, object).head),
            "info" => look(&self.record::<Info>(SectionKind::INFOS, object).head),
            "file" => look(&self.record::<File>(SectionKind::FILES, object).head),
            "win" => look(&self.record::<Window>(SectionKind::WINDOWS, object).head),
            "session" => look(&self.record::<Session>(SectionKind::SESSIONS, object).head),
            kind => panic!("{kind}"),
        }
    }

    fn heads(&self) -> Vec<(SectionKind, Head, bool)> {
        fn of<T: Headed>(images: &Images, kind: SectionKind) -> Vec<(SectionKind, Head, bool)> {
            images.all::<T>(kind).iter().map(|s| (kind, s.value.head().clone(), s.torn)).collect()
        }
        let mut heads = of::<Comm>(self, SectionKind::COMMS);
        heads.extend(of::<Group>(self, SectionKind::GROUPS));
        heads.extend(of::<Datatype>(self, SectionKind::DATATYPES));
        heads.extend(of::<Op>(self, SectionKind::OPS));
        heads.extend(of::<Errhandler>(self, SectionKind::ERRHANDLERS));
        heads.extend(of::<Info>(self, SectionKind::INFOS));
        heads.extend(of::<File>(self, SectionKind::FILES));
        heads.extend(of::<Window>(self, SectionKind::WINDOWS));
        heads.extend(of::<Session>(self, SectionKind::SESSIONS));
        heads.extend(of::<Attribute>(self, SectionKind::ATTRIBUTES));
        heads
    }

    fn kind(name: &str) -> SectionKind {
        let kinds = [
            ("comm", SectionKind::COMMS),
            ("group", SectionKind::GROUPS),
            ("datatype", SectionKind::DATATYPES),
            ("op", SectionKind::OPS),
            ("errhandler", SectionKind::ERRHANDLERS),
            ("info", SectionKind::INFOS),
        ];
        kinds.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
    }

    /// Handles of all live, non-predefined objects of a kind, in order.
    pub fn living(&self, name: &str) -> Vec<u64> {
        let wanted = Self::kind(name);
        let mut handles: Vec<u64> = self
            .heads()
            .iter()
            .filter(|(kind, head, _)| *kind == wanted && head.life.get() == Life::LIVE.0)
            .filter(|(_, head, _)| head.flags.get() & Flag::PREDEFINED.0 == 0)
            .map(|(_, head, _)| head.handle.get())
            .collect();
        handles.sort_unstable();
        handles
    }

    /// Number of objects of a kind that ever existed.
    pub fn ever(&self, name: &str) -> usize {
        let wanted = Self::kind(name);
        let used = |head: &Head| head.life.get() != Life::EMPTY.0;
        self.heads().iter().filter(|(kind, head, _)| *kind == wanted && used(head)).count()
    }

    pub fn is_predefined(&self, name: &str, handle: u64) -> bool {
        let wanted = Self::kind(name);
        self.heads().iter().any(|(kind, head, _)| {
            *kind == wanted && head.handle.get() == handle && head.flags.get() & Flag::PREDEFINED.0 != 0
        })
    }

    /// Number of freed objects that are still present.
    pub fn tombstones(&self) -> usize {
        self.heads().iter().filter(|(_, head, _)| head.life.get() == Life::FREED.0).count()
    }

    /// Number of records (bytes, words) ever used, by kind, except for kinds that do not belong to objects.
    pub fn used(&self) -> BTreeMap<&'static str, u64> {
        let header = self.image.header().unwrap();
        let mut used = BTreeMap::new();
        for section in &header.directory[..header.sections.get() as usize] {
            let kind = SectionKind(section.kind.get());
            if !matches!(kind, SectionKind::THREADS | SectionKind::NOTES | SectionKind::LEDGER) {
                *used.entry(kind.name().unwrap()).or_default() += section.used.get();
            }
        }
        used
    }

    pub fn lost_tombstones(&self) -> u64 {
        self.image.header().unwrap().lost[Loss::TOMBSTONES.0 as usize].get()
    }

    /// Checks the invariants of an image that was copied while the process kept running.
    pub fn is_sound(&self) {
        for (kind, head, torn) in self.heads() {
            let life = Life(head.life.get());
            assert!(life.name().is_some(), "{life:?}");
            if !torn && life != Life::EMPTY {
                assert_eq!(kind_of(head.uid.get()), kind);
                assert_eq!(life == Life::FREED, head.freed_by.get() != 0, "{head:?}");
            }
        }
    }

    /// A fact about an object.
    pub fn fact(&self, object: &Object, key: &str) -> String {
        if object.kind == "comm_keyval" {
            let handle = keyval_handle(SectionKind::COMMS, object.handle as i32);
            let all = self.all::<Keyval>(SectionKind::KEYVALS);
            let found = all.iter().find(|k| k.value.head.handle.get() == handle).expect("no such keyval");
            return match key {
                "copy" => word(found.value.copy.get()),
                "extra" => word(found.value.extra.get()),
                _ => panic!("{key}"),
            };
        }
        let of_head = self.with_head(object, |head| {
            let flag = |flag: Flag| Some(u32::from(head.flags.get() & flag.0 != 0).to_string());
            match key {
                "life" => Some(head.life.get().to_string()),
                "parent" => Some(word(head.parent.get())),
                "made_by" => Some(self.function(head.made_by.get().into()).to_owned()),
                "freed_by" => Some(self.function(head.freed_by.get()).to_owned()),
                "predefined" => flag(Flag::PREDEFINED),
                "committed" => flag(Flag::COMMITTED),
                "commutative" => flag(Flag::COMMUTATIVE),
                "inter" => flag(Flag::INTER),
                _ => None,
            }
        });
        of_head.unwrap_or_else(|| match object.kind.as_str() {
            "comm" => self.of_comm(&self.record(SectionKind::COMMS, object), key),
            "group" => self.of_group(&self.record(SectionKind::GROUPS, object), key),
            "datatype" => self.of_datatype(&self.record(SectionKind::DATATYPES, object), key),
            "op" | "errhandler" | "info" | "session" => self.of_small(object, key),
            "file" => self.of_file(&self.record(SectionKind::FILES, object), key),
            "win" => self.of_window(&self.record(SectionKind::WINDOWS, object), key),
            kind => panic!("{kind} {key}"),
        })
    }

    fn of_comm(&self, comm: &Comm, key: &str) -> String {
        match key {
            "name" => comm.name.text().into_owned(),
            "rank" => int(comm.rank.get()),
            "size" => int(comm.size.get()),
            "remote_size" => int(comm.remote_size.get()),
            "members" => signed(&self.words(&comm.members)),
            "remote" => signed(&self.words(&comm.remote)),
            "topology" => int(comm.topology.get()),
            "args" => signed(&self.words(&comm.topology_args)),
            "colour" => word(comm.colour.get()),
            "other" => word(comm.other_parent.get()),
            "errhandler" => word(comm.errhandler_uid.get()),
            "attributes" => self.attributes(comm),
            _ => panic!("comm {key}"),
        }
    }

    fn attributes(&self, comm: &Comm) -> String {
        let all = self.all::<Attribute>(SectionKind::ATTRIBUTES);
        let mut own: Vec<_> = all
            .iter()
            .filter(|a| a.value.head.parent.get() == comm.head.uid.get())
            .filter(|a| a.value.head.life.get() == Life::LIVE.0)
            .collect();
        own.sort_by_key(|a| std::cmp::Reverse(a.value.head.uid.get()));
        let text = own.iter().map(|a| format!("{}:{}", word(a.value.keyval.get()), a.value.value.get()));
        text.collect::<Vec<_>>().join(",")
    }

    fn of_group(&self, group: &Group, key: &str) -> String {
        match key {
            "rank" => int(group.rank.get()),
            "size" => int(group.size.get()),
            "members" => signed(&self.words(&group.members)),
            "name" => self.text(&group.name),
            "handles" => int(group.handles.get()),
            _ => panic!("group {key}"),
        }
    }

    fn of_datatype(&self, datatype: &Datatype, key: &str) -> String {
        let array = self.words(&datatype.array);
        let n = datatype.args[0].get() as usize;
        match key {
            "name" => self.text(&datatype.name),
            "combiner" => int(datatype.combiner.get()),
            "args" => signed(&datatype.args.iter().map(|a| a.get()).collect::<Vec<_>>()),
            "array" => signed(&array),
            "lengths" => signed(&array[..2 * n]),
            "olds" => signed(&array[3 * n..4 * n]),
            "old" => format!("{:x}", datatype.old.get()),
            "size" => word(datatype.size.get()),
            "lb" => word(datatype.lb.get()),
            "extent" => word(datatype.extent.get()),
            "handles" => int(datatype.handles.get()),
            "users" => int(datatype.users.get()),
            _ => panic!("datatype {key}"),
        }
    }

    fn of_small(&self, object: &Object, key: &str) -> String {
        match (object.kind.as_str(), key) {
            ("op", "function") => word(self.record::<Op>(SectionKind::OPS, object).function.get()),
            ("op", "name") => self.text(&self.record::<Op>(SectionKind::OPS, object).name),
            ("errhandler", key) => {
                let record = self.record::<Errhandler>(SectionKind::ERRHANDLERS, object);
                match key {
                    "function" => word(record.function.get()),
                    "kind" => int(record.kind.get()),
                    "name" => self.text(&record.name),
                    _ => panic!("errhandler {key}"),
                }
            }
            ("info", "pairs") => self.pairs(&self.record::<Info>(SectionKind::INFOS, object).pairs),
            ("session", "hints") => self.pairs(&self.record::<Session>(SectionKind::SESSIONS, object).hints),
            ("info", "count") => word(self.record::<Info>(SectionKind::INFOS, object).count.get()),
            other => panic!("{other:?}"),
        }
    }

    fn of_file(&self, file: &File, key: &str) -> String {
        match key {
            "name" => self.text(&file.name),
            "amode" => int(file.amode.get()),
            "atomicity" => int(file.atomicity.get()),
            "hints" => self.pairs(&file.hints),
            "info" => word(file.info_uid.get()),
            "disp" => word(file.disp.get()),
            "etype" => word(file.etype_uid.get()),
            "filetype" => word(file.filetype_uid.get()),
            "datarep" => self.text(&file.datarep),
            _ => panic!("file {key}"),
        }
    }

    fn of_window(&self, window: &Window, key: &str) -> String {
        match key {
            "base" => word(window.base.get()),
            "bytes" => word(window.size.get()),
            "unit" => word(window.unit.get()),
            "flavour" => int(window.flavour.get()),
            "name" => self.text(&window.name),
            "epochs" => int(window.epochs.get()),
            "last_sync" => self.function(window.last_sync.get()).to_owned(),
            "locks" => signed(&self.words(&window.locks)),
            "attached" => signed(&self.words(&window.attached)),
            "start" => word(window.start_group.get()),
            "post" => word(window.post_group.get()),
            "start_members" => signed(&self.words(&window.start_members)),
            "puts" => word(window.puts.get()),
            "gets" => word(window.gets.get()),
            "accumulates" => word(window.accumulates.get()),
            "pending" => word(window.pending.get()),
            _ => panic!("window {key}"),
        }
    }
}
