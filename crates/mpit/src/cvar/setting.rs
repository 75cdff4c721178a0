//! A ready-made control variable: a value with a default, an environment variable and validation.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{CvarHandle, CvarProvider, Provenance};
use crate::codes::{Datatype, Error, Result};

/// The value of a [`Setting`].
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    /// A value of any integer datatype.
    Int(i64),
    /// A value of [`Datatype::DOUBLE`].
    Double(f64),
    /// A value of [`Datatype::CHAR`].
    Text(String),
}

/// Whether a setting can be written at this time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Yes.
    Now,
    /// Not now, but earlier or later.
    NotNow,
    /// Never.
    Never,
}

type Check = Box<dyn Fn(&SettingValue) -> bool + Send + Sync>;
type Gate = Box<dyn Fn() -> When + Send + Sync>;
type Changed = Box<dyn Fn(&SettingValue) + Send + Sync>;

/// A value that the program reads cheaply and tools read and write as a control variable.
///
/// The program keeps an [`Arc`] of it and registers a clone with [`crate::Registry::add_cvar`].
///
/// ```
/// use std::sync::Arc;
/// use mpit::{CvarInfo, Datatype, Registry, Setting, SettingValue};
///
/// let depth = Arc::new(Setting::new(Datatype::INT, SettingValue::Int(16))
///     .check(|value| matches!(value, SettingValue::Int(1..=1024))));
/// let registry = Registry::new();
/// let index = registry.add_cvar(CvarInfo::new("queue_depth", Datatype::INT), depth.clone())?;
/// let (handle, _count) = registry.cvar_handle_alloc(index, 0)?;
/// registry.cvar_write(handle, &64i32.to_ne_bytes())?;
/// assert_eq!(depth.int(), 64);
/// assert!(registry.cvar_write(handle, &0i32.to_ne_bytes()).is_err());
/// # Ok::<(), mpit::Error>(())
/// ```
pub struct Setting {
    datatype: Datatype,
    default: SettingValue,
    capacity: usize,
    number: AtomicU64,
    text: Mutex<String>,
    provenance: AtomicU8,
    check: Check,
    gate: Gate,
    changed: Changed,
}

const DEFAULT: u8 = 0;
const ENVIRONMENT: u8 = 1;
const WRITTEN: u8 = 2;

impl Setting {
    /// Creates a setting of this datatype with a default value. A text holds up to 1023 bytes.
    pub fn new(datatype: Datatype, default: SettingValue) -> Self {
        let setting = Self {
            datatype,
            capacity: if datatype == Datatype::CHAR { 1024 } else { 1 },
            default: default.clone(),
            number: AtomicU64::new(0),
            text: Mutex::default(),
            provenance: AtomicU8::new(DEFAULT),
            check: Box::new(|_| true),
            gate: Box::new(|| When::Now),
            changed: Box::new(|_| ()),
        };
        setting.store(&default);
        setting
    }

    /// Rejects values for which `check` returns `false`, with [`Error::INVALID`].
    #[must_use]
    pub fn check(mut self, check: impl Fn(&SettingValue) -> bool + Send + Sync + 'static) -> Self {
        self.check = Box::new(check);
        self
    }

    /// Sets a function that is asked before each write whether it is allowed at that time.
    #[must_use]
    pub fn when(mut self, gate: impl Fn() -> When + Send + Sync + 'static) -> Self {
        self.gate = Box::new(gate);
        self
    }

    /// Sets a function that is called after each change through the interface.
    #[must_use]
    pub fn on_change(mut self, changed: impl Fn(&SettingValue) + Send + Sync + 'static) -> Self {
        self.changed = Box::new(changed);
        self
    }

    /// Sets the value from the text of the environment variable; `None`, if that is unset, changes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::INVALID`] if the value is invalid; the setting is then unchanged.
    pub fn from_environment(&self, text: Option<&str>) -> Result<()> {
        let Some(text) = text else { return Ok(()) };
        let value = self.parse(text).ok_or(Error::INVALID)?;
        if !self.allows(&value) {
            return Err(Error::INVALID);
        }
        self.store(&value);
        self.provenance.store(ENVIRONMENT, Ordering::Release);
        Ok(())
    }

    fn parse(&self, text: &str) -> Option<SettingValue> {
        match self.datatype {
            Datatype::CHAR => Some(SettingValue::Text(text.to_owned())),
            Datatype::DOUBLE => text.trim().parse().ok().map(SettingValue::Double),
            _ => text.trim().parse().ok().map(SettingValue::Int),
        }
    }

    /// Whether the value is within the range of the datatype and passes the check.
    fn allows(&self, value: &SettingValue) -> bool {
        let fits = match (self.datatype, value) {
            (Datatype::CHAR, SettingValue::Text(text)) => {
                text.len() < self.capacity && !text.contains('\0')
            }
            (Datatype::DOUBLE, SettingValue::Double(_)) => true,
            (Datatype::INT | Datatype::INT32_T, SettingValue::Int(v)) => i32::try_from(*v).is_ok(),
            (Datatype::UNSIGNED | Datatype::UINT32_T, SettingValue::Int(v)) => u32::try_from(*v).is_ok(),
            (Datatype::INT64_T | Datatype::COUNT, SettingValue::Int(_)) => true,
            (_, SettingValue::Int(v)) => *v >= 0,
            _ => false,
        };
        fits && (self.check)(value)
    }

    fn store(&self, value: &SettingValue) {
        match value {
            SettingValue::Int(v) => self.number.store(*v as u64, Ordering::Release),
            SettingValue::Double(v) => self.number.store(v.to_bits(), Ordering::Release),
            SettingValue::Text(v) => self.text.lock().unwrap_or_else(PoisonError::into_inner).clone_from(v),
        }
    }

    /// The value of an integer setting: one load.
    #[inline]
    pub fn int(&self) -> i64 {
        self.number.load(Ordering::Relaxed) as i64
    }

    /// The value of a double setting.
    #[inline]
    pub fn double(&self) -> f64 {
        f64::from_bits(self.number.load(Ordering::Relaxed))
    }

    /// The value of a text setting.
    pub fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn bytes(&self, value: &SettingValue) -> Vec<u8> {
        match value {
            SettingValue::Text(text) => {
                let mut bytes = text.clone().into_bytes();
                bytes.resize(self.capacity, 0);
                bytes
            }
            SettingValue::Double(v) => v.to_ne_bytes().to_vec(),
            SettingValue::Int(v) if self.datatype.size() == 4 => (*v as i32).to_ne_bytes().to_vec(),
            SettingValue::Int(v) => v.to_ne_bytes().to_vec(),
        }
    }

    fn decode(&self, from: &[u8]) -> Option<SettingValue> {
        Some(match (self.datatype, self.datatype.size()) {
            (Datatype::CHAR, _) => {
                let end = from.iter().position(|byte| *byte == 0)?;
                SettingValue::Text(String::from_utf8(from.get(..end)?.to_vec()).ok()?)
            }
            (Datatype::DOUBLE, _) => SettingValue::Double(f64::from_ne_bytes(*from.first_chunk()?)),
            (Datatype::UNSIGNED | Datatype::UINT32_T, _) => {
                SettingValue::Int(u32::from_ne_bytes(*from.first_chunk()?).into())
            }
            (_, 4) => SettingValue::Int(i32::from_ne_bytes(*from.first_chunk()?).into()),
            _ => SettingValue::Int(i64::from_ne_bytes(*from.first_chunk()?)),
        })
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        match (self.gate)() {
            When::Now => {}
            When::NotNow => return Err(Error::CVAR_SET_NOT_NOW),
            When::Never => return Err(Error::CVAR_SET_NEVER),
        }
        let value = self.decode(from).filter(|value| self.allows(value)).ok_or(Error::INVALID)?;
        self.store(&value);
        self.provenance.store(WRITTEN, Ordering::Release);
        (self.changed)(&value);
        Ok(())
    }
}

impl CvarHandle for Arc<Setting> {
    fn count(&self) -> usize {
        self.capacity
    }

    fn read(&self, out: &mut [u8]) -> Result<()> {
        let number = self.number.load(Ordering::Acquire).to_ne_bytes();
        if self.datatype == Datatype::CHAR {
            out.fill(0);
            let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            out.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        } else {
            // Little-endian: the low half is the value of a 32-bit datatype.
            out.iter_mut().zip(number).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        Setting::write(self, from)
    }
}

impl CvarProvider for Arc<Setting> {
    fn open(&self, _object: u64) -> Result<Box<dyn CvarHandle>> {
        Ok(Box::new(self.clone()))
    }

    fn provenance(&self) -> Provenance {
        match self.provenance.load(Ordering::Acquire) {
            DEFAULT => Provenance::Default,
            ENVIRONMENT => Provenance::Environment,
            _ => Provenance::Written,
        }
    }

    fn default_value(&self) -> Option<Vec<u8>> {
        Some(self.bytes(&self.default))
    }
}
