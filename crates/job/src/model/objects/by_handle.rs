//! Finds the objects that a user may mean by a handle.

use super::fortran::numbered_when_asked;
use super::{File, Kind, Lifetime, Object, Reader};
use crate::base::identity::Prefix;
use mpi_abi::AbiKind;
use mpiscope_image::Source;
use mpiscope_image::objects::{Head, Life};

/// Parses a decimal or hexadecimal number. Negative ones are C `int`s or Fortran `INTEGER`s.
pub fn number(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    Some(if negative { -value } else { value })
}

/// Returns the values that a handle may have in the image, most likely first.
fn values(number: i128) -> Vec<u64> {
    let mut values = Vec::new();
    if let Ok(value) = u64::try_from(number) {
        values.push(value);
    }
    if let Ok(value) = i32::try_from(number) {
        // An `int` is stored zero-extended; a pointer may be a small negative number.
        values.push(u64::from(value.cast_unsigned()));
        values.push(i64::from(value).cast_unsigned());
    }
    // A negative `int` printed as 64 bits may be sign-extended; a handle in the standard ABI may need the
    // sign extension.
    if let Ok(low) = u32::try_from(number & 0xffff_ffff)
        && low.cast_signed() < 0
        && matches!(number >> 32, 0 | 0xffff_ffff)
    {
        values.push(u64::from(low));
        values.push(i64::from(low.cast_signed()).cast_unsigned());
    }
    let mut seen = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(*value);
            true
        }
    });
    values
}

/// The same for an attribute key: the program's `int`, also combined with the kind that it applies to in the
/// upper half.
fn keys(number: i128) -> Vec<u64> {
    let mut keys = values(number);
    if let Some(key) = keys.iter().find_map(|value| u32::try_from(*value).ok()) {
        let kinds = [Kind::Communicator, Kind::Datatype, Kind::Window];
        keys.extend(kinds.map(|kind| u64::from(kind.section().0) << 32 | u64::from(key)));
    }
    keys
}

impl<S: Source> Reader<'_, S> {
    /// Returns the C handles that a Fortran handle may stand for, most likely first. Such objects need not
    /// exist.
    pub fn fortran_to_c(&self, kind: Kind, fortran: i32) -> Vec<u64> {
        let mut handles = self.fortran.to_c(kind, fortran);
        if self.abi() == AbiKind::STANDARD
            && let Ok(index) = self.index(kind)
        {
            let alive = index.entries.iter().filter(|entry| entry.life != Life::FREED.0);
            let same = alive.filter(|entry| self.fortran.index_of(kind, entry.handle) == Some(fortran));
            handles.extend(same.map(|entry| entry.handle));
        }
        if numbered_when_asked(self.abi(), kind) {
            handles.extend(self.files_numbered(fortran));
        }
        handles
    }

    /// Returns files with this number, which ROMIO assigned on request.
    fn files_numbered(&self, fortran: i32) -> Vec<u64> {
        let mut handles = Vec::new();
        let alive = |head: &Head| head.life.get() != Life::FREED.0;
        // Unreadable objects have no number.
        let _ = self.each::<File>(&mut |head| alive(head), &mut |file| {
            if file.common.fortran == Some(fortran) {
                handles.push(file.common.handle.0);
            }
        });
        handles
    }
}

/// Returns the objects of a process that `text` may mean: by handle, Fortran handle, identity or name.
pub fn find<S: Source>(
    reader: &Reader<'_, S>,
    kind: Option<Kind>,
    text: &str,
    fortran: bool,
) -> (Vec<Object>, Option<String>) {
    let kinds: Vec<Kind> = kind.map_or_else(|| Kind::ALL.to_vec(), |kind| vec![kind]);
    if let Some(identity) = Prefix::parse(text) {
        return (living(identical(reader, &kinds, &identity)), None);
    }
    let Some(number) = number(text) else { return (named(reader, &kinds, text.trim_matches('"')), None) };
    let (mut found, mut why) = (Vec::new(), None);
    for kind in kinds {
        let values = match (fortran, i32::try_from(number)) {
            (false, _) if kind == Kind::Keyval => keys(number),
            (false, _) => values(number),
            (true, Ok(value)) => reader.fortran_to_c(kind, value),
            (true, Err(_)) => Vec::new(),
        };
        if fortran && values.is_empty() {
            why = Some(match reader.fortran_is_known(kind) {
                true if numbered_when_asked(reader.abi(), kind) => format!(
                    "{number} is not a Fortran handle that this library has assigned to an open {kind}; it assigns \
                     one when first asked"
                ),
                true => format!("{number} is not the Fortran handle of a {kind} in this process"),
                false => format!(
                    "this library's table of Fortran handles cannot be read here: name the {kind} by its C handle"
                ),
            });
        }
        for value in values {
            match reader.object(kind, value) {
                Ok(object) => {
                    found.push(object);
                    break;
                }
                Err(e) => why = why.or(Some(e.to_string())),
            }
        }
    }
    if kind.is_none() && found.is_empty() && !fortran {
        why = Some(format!(
            "no object has the handle {text}: it was never created, or was freed so long ago that its record was reused"
        ));
    }
    // A small number may be the null handle of many kinds.
    (living(found), why)
}

/// Keeps only live objects if there are any.
fn living(mut found: Vec<Object>) -> Vec<Object> {
    let lives = |object: &Object| !matches!(object.common().standing, Lifetime::Freed | Lifetime::Null);
    if found.iter().any(lives) {
        found.retain(lives);
    }
    found
}

/// Finds objects by the identity shared by all processes.
fn identical<S: Source>(reader: &Reader<'_, S>, kinds: &[Kind], identity: &Prefix) -> Vec<Object> {
    let mut found = Vec::new();
    for kind in kinds {
        // Unreadable objects have no identity.
        let _ = reader.visit(*kind, &mut |head| identity.begins(head.identity), &mut |o| found.push(o));
    }
    found
}

/// Finds objects by the name set by the program, or by the standard's name.
fn named<S: Source>(reader: &Reader<'_, S>, kinds: &[Kind], name: &str) -> Vec<Object> {
    let mut found = Vec::new();
    for kind in kinds {
        let known = reader.predefined().list(*kind).find(|(known, _)| known.name == name);
        if let Some(object) = known.and_then(|(_, handle)| reader.object(*kind, handle).ok()) {
            found.push(object);
            continue;
        }
        // Unreadable objects have no such name.
        let _ = reader.visit(*kind, &mut |_| true, &mut |object| {
            let common = object.common();
            if [&common.name, &common.given_name].iter().any(|one| one.as_deref() == Some(name)) {
                found.push(object);
            }
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_parsed_in_both_bases_and_with_a_sign() {
        assert_eq!(number("0x84000001"), Some(0x8400_0001));
        assert_eq!(number("1140850688"), Some(0x4400_0000));
        assert_eq!(values(number("-2080374783").unwrap()), [0x8400_0001, 0xffff_ffff_8400_0001]);
        assert_eq!(values(number("0x44000000").unwrap()), [0x4400_0000]);
        for long in ["0xffffffff84000001", "2214592513"] {
            let values = values(number(long).unwrap());
            assert!(values.contains(&0x8400_0001) && values.contains(&0xffff_ffff_8400_0001), "{long}");
        }
        assert_eq!(values(number("0x7fffffff84000001").unwrap()), [0x7fff_ffff_8400_0001]);
        assert_eq!(keys(13)[1..], [0x10_0000_000d, 0x12_0000_000d, 0x19_0000_000d]);
        assert_eq!((number("solver"), number("0xzz"), number("")), (None, None, None));
    }
}
