//! The functions of an image: the only place where their properties are read.
//!
//! The writer puts its own table into the image, so a reader can show the arguments of functions that are
//! newer than itself. For older images, which lack the properties, the reader's own table is used, by name.

use crate::layout::{FunctionRecord, MAX_FUNCTIONS, SectionKind};
use crate::read::{Error, Image, Piece, Source};
use mpi_abi::{Fields, FunctionId, Properties};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A function, as the image describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Function {
    /// The name in the C binding; empty if the image lacks it.
    pub name: String,
    /// What its calls do.
    pub properties: Properties,
    /// The fields of a call's record that it sets.
    pub fields: Fields,
    /// Name of the function with counts of type `int`: for `MPI_Send_c` it is `MPI_Send`.
    pub base: String,
    /// Name of the function that does the same and waits for completion: for `MPI_Isend_c` it is `MPI_Send`,
    /// for `MPI_Test` `MPI_Wait`, for most others the function itself.
    pub operation: String,
}

/// All functions of an image. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    list: Arc<[Function]>,
}

/// The table that was read last: all ranks of a job have the same one, and reading it takes longer than the
/// rest of a process.
static LATEST: Mutex<Option<(Vec<Piece>, Functions)>> = Mutex::new(None);

fn latest() -> MutexGuard<'static, Option<(Vec<Piece>, Functions)>> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Functions {
    /// Reads the functions of an image.
    ///
    /// # Errors
    /// If the image is damaged or cannot be read.
    pub fn read<S: Source>(image: &Image<S>) -> Result<Self, Error> {
        let table = image.table::<FunctionRecord>(SectionKind::FUNCTIONS)?;
        let pieces = image.pieces(&table, MAX_FUNCTIONS as u64)?;
        if let Some((_, known)) = latest().as_ref().filter(|(known, _)| *known == pieces) {
            return Ok(known.clone());
        }
        let records: Vec<Vec<FunctionRecord>> =
            pieces.iter().map(Piece::records).collect::<Result<_, Error>>()?;
        let mut records = records.concat();
        records.truncate(MAX_FUNCTIONS);
        let found = Self::of_records(&records);
        *latest() = Some((pieces, found.clone()));
        Ok(found)
    }

    fn of_records(records: &[FunctionRecord]) -> Self {
        let name = |number: u32| {
            let index = usize::try_from(number.checked_sub(1)?).ok()?;
            Some(records.get(index)?.name.text().into_owned())
        };
        Self { list: records.iter().map(|record| function(record, name)).collect() }
    }

    /// The function with this number, which is the value of a call's `open` and an index of a thread's
    /// counters.
    pub fn get(&self, number: u32) -> Option<&Function> {
        self.list.get(usize::try_from(number).ok()?).filter(|function| !function.name.is_empty())
    }

    /// The function with this name.
    pub fn named(&self, name: &str) -> Option<&Function> {
        self.list.iter().find(|function| function.name == name && !name.is_empty())
    }

    /// All functions by number, including those without a name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Function> {
        self.list.iter()
    }
}

impl Function {
    /// The function according to this build's own table.
    #[must_use]
    pub fn of_table(name: &str) -> Self {
        let name = name.to_owned();
        let Some(id) = FunctionId::from_name(&name) else {
            return Self { base: name.clone(), operation: name.clone(), name, ..Self::default() };
        };
        Self {
            name,
            properties: id.properties(),
            fields: id.function().map(|function| function.fields).unwrap_or_default(),
            base: id.base().name().to_owned(),
            operation: id.operation().name().to_owned(),
        }
    }
}

/// The words of a function's record: properties, fields, numbers of base and operation plus one.
#[must_use]
pub fn words(id: FunctionId) -> (u64, u64, u32, u32) {
    let fields = id.function().map(|function| function.fields).unwrap_or_default();
    let plus_one = |id: FunctionId| u32::from(id.0) + 1;
    (id.properties().word(), fields.word(), plus_one(id.base()), plus_one(id.operation()))
}

fn function(record: &FunctionRecord, named: impl Fn(u32) -> Option<String>) -> Function {
    let name = record.name.text().into_owned();
    let Some(properties) = Properties::from_word(record.properties.get()) else {
        return Function::of_table(&name);
    };
    let other = |number: u32| named(number).unwrap_or_else(|| name.clone());
    Function {
        properties,
        fields: Fields::from_word(record.fields.get()),
        base: other(record.base.get()),
        operation: other(record.operation.get()),
        name,
    }
}
