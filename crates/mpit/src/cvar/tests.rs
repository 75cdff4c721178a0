//! The rules of control variables, one test per rule.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::*;
use crate::codes::Error;
use crate::registry::Registry;
use crate::word::CvarWord;

fn publish(info: CvarInfo, setting: Setting) -> (Registry, Arc<Setting>, CvarWord) {
    let registry = Registry::new();
    let setting = Arc::new(setting);
    let index = registry.add_cvar(info, setting.clone()).unwrap();
    let (handle, _) = registry.cvar_handle_alloc(index, 0).unwrap();
    (registry, setting, handle)
}

fn read_int(registry: &Registry, handle: CvarWord) -> i32 {
    let mut out = [0; 4];
    registry.cvar_read(handle, &mut out).unwrap();
    i32::from_ne_bytes(out)
}

#[test]
fn a_written_value_overrides_the_environment_which_overrides_the_default() {
    let int = Setting::new(Datatype::INT, SettingValue::Int(5));
    let (registry, setting, handle) = publish(CvarInfo::new("depth", Datatype::INT), int);
    let cvar = registry.cvar(0).unwrap();
    assert_eq!((read_int(&registry, handle), cvar.is_changed()), (5, false));
    setting.from_environment(Some(" 7 ")).unwrap();
    assert_eq!((read_int(&registry, handle), cvar.provenance()), (7, Provenance::Environment));
    assert_eq!(setting.from_environment(Some("many")), Err(Error::INVALID));
    registry.cvar_write(handle, &(-9i32).to_ne_bytes()).unwrap();
    assert_eq!((setting.int(), cvar.provenance()), (-9, Provenance::Written));
    assert_eq!(cvar.default_value().unwrap(), 5i32.to_ne_bytes());
}

#[test]
fn an_invalid_value_is_rejected_and_changes_nothing() {
    let changes = Arc::new(AtomicU32::new(0));
    let seen = changes.clone();
    let setting = Setting::new(Datatype::INT, SettingValue::Int(5))
        .check(|v| matches!(v, SettingValue::Int(1..=9)))
        .on_change(move |_| _ = seen.fetch_add(1, Ordering::Relaxed));
    let (registry, _, handle) = publish(CvarInfo::new("depth", Datatype::INT), setting);
    assert_eq!(registry.cvar_write(handle, &10i32.to_ne_bytes()), Err(Error::INVALID));
    assert_eq!(registry.cvar_write(handle, &[1, 2]), Err(Error::INVALID));
    assert_eq!(changes.load(Ordering::Relaxed), 0);
    assert_eq!(read_int(&registry, handle), 5);
    assert!(!registry.cvar(0).unwrap().is_changed());
    registry.cvar_write(handle, &9i32.to_ne_bytes()).unwrap();
    assert_eq!(changes.load(Ordering::Relaxed), 1);
}

#[test]
fn never_and_not_now_are_distinguished() {
    let late = Arc::new(AtomicBool::new(false));
    let is_late = late.clone();
    let gate = move || if is_late.load(Ordering::Relaxed) { When::NotNow } else { When::Now };
    let setting = Setting::new(Datatype::INT, SettingValue::Int(5)).when(gate);
    let (registry, _, handle) = publish(CvarInfo::new("a", Datatype::INT), setting);
    let one = 1i32.to_ne_bytes();
    assert_eq!(registry.cvar_write(handle, &one), Ok(()));
    late.store(true, Ordering::Relaxed);
    assert_eq!(registry.cvar_write(handle, &one), Err(Error::CVAR_SET_NOT_NOW));
    for scope in [Scope::CONSTANT, Scope::READONLY] {
        let info = CvarInfo { scope, ..CvarInfo::new("b", Datatype::INT) };
        let setting = Setting::new(Datatype::INT, SettingValue::Int(0));
        let (registry, _, handle) = publish(info, setting);
        assert_eq!(registry.cvar_write(handle, &one), Err(Error::CVAR_SET_NEVER));
    }
}

#[test]
fn a_string_is_read_with_its_nul_and_written_up_to_it() {
    let text = Setting::new(Datatype::CHAR, SettingValue::Text("file".into()));
    let (registry, setting, handle) = publish(CvarInfo::new("name", Datatype::CHAR), text);
    let mut out = vec![b'x'; registry.cvar_size(handle).unwrap()];
    registry.cvar_read(handle, &mut out).unwrap();
    assert_eq!(&out[..6], b"file\0\0");
    registry.cvar_write(handle, b"other\0garbage").unwrap();
    assert_eq!(setting.text(), "other");
    assert_eq!(registry.cvar_write(handle, b"no end"), Err(Error::INVALID));
    assert_eq!(registry.cvar_write(handle, b"\xff\0"), Err(Error::INVALID));
    assert_eq!(setting.text(), "other");
}

#[test]
fn freed_and_foreign_handles_are_rejected() {
    let int = Setting::new(Datatype::INT, SettingValue::Int(5));
    let (registry, _, handle) = publish(CvarInfo::new("depth", Datatype::INT), int);
    registry.cvar_handle_free(handle).unwrap();
    for word in [handle, CvarWord::NULL, CvarWord(u64::MAX), CvarWord(1)] {
        assert_eq!(registry.cvar_read(word, &mut [0; 4]), Err(Error::INVALID_HANDLE));
        assert_eq!(registry.cvar_handle_free(word), Err(Error::INVALID_HANDLE));
    }
    assert_eq!(registry.cvar_handle_alloc(-1, 0), Err(Error::INVALID_INDEX));
    assert_eq!(registry.cvar_handle_alloc(1, 0), Err(Error::INVALID_INDEX));
}

#[test]
fn handles_do_not_survive_the_last_finalize() {
    let int = Setting::new(Datatype::INT, SettingValue::Int(5));
    let (registry, _, handle) = publish(CvarInfo::new("depth", Datatype::INT), int);
    registry.init();
    registry.finalize().unwrap();
    assert_eq!(registry.cvar_read(handle, &mut [0; 4]), Err(Error::INVALID_HANDLE));
    assert_eq!(registry.cvar_index("depth"), Ok(0));
}
