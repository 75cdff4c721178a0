//! Variables of another process as found in its image: mpiscope's performance variables, as totals since the
//! process started, and control variables.
//!
//! Watermarks cover the whole time since the start, as far as the process records them. Variables bound to
//! objects are in [`bound`].

pub mod bound;

use crate::Error;
use crate::Process;
use crate::model::objects::{ImageOnly, Kind, Reader};
use crate::model::rank::Rank;
use crate::observation::{Observation, of_messages};
use crate::questions::leaks;
use mpiscope_image::derive::Moved;
use mpiscope_image::derive::status::NO_FUNCTION;
use mpiscope_image::derive::totals::{Elements, Records, TOTALS};
use mpiscope_image::layout::{self, Recording, SectionKind};
use mpiscope_image::traffic::Traffic;
use mpiscope_image::variables::{Provenance, SWITCH, SWITCHES, Variable};
use mpiscope_image::{Image, Source};
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum length read of a control variable's description, in bytes.
const LONGEST_DESCRIPTION: usize = 1024;

/// All variables of a process, and what it recorded about its messages.
pub struct Variables {
    /// Control variables.
    pub controls: Vec<Control>,
    /// mpiscope's performance variables that are not bound to an object.
    pub values: Vec<Value>,
    /// Variables bound to individual objects.
    pub bound: Vec<bound::Value>,
    /// What the process recorded about its messages: some variables follow only from the records of all
    /// processes together.
    pub messages: Observation,
}

impl Variables {
    /// Reads those of an image. `live`: the process is running, so the present moment is meaningful.
    ///
    /// # Errors
    /// If a table is damaged.
    pub fn read<S: Source>(image: &Image<S>, process: &Process, live: bool) -> Result<Self, Error> {
        Ok(Self {
            controls: controls(image)?,
            values: values(image, process, live)?,
            bound: bound::values(image, process)?,
            messages: of_messages(&Rank::new(image, process, &ImageOnly)),
        })
    }
}

/// A control variable as found in the image: mpiscope's own, and those that a tool has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Its name, truncated to [`LONGEST_NAME`] bytes.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The value's name, or empty.
    pub named: &'static str,
    /// `default`, `environment`, `written` or `other`.
    pub from: &'static str,
    /// The environment variable with the same meaning, or empty.
    pub environment: String,
    /// Its description.
    pub desc: String,
}

/// Number of bytes to which names in images are truncated.
pub const LONGEST_NAME: usize = 63;

/// Reads the control variables of an image.
///
/// # Errors
/// If their table is damaged.
pub fn controls<S: Source>(image: &Image<S>) -> Result<Vec<Control>, Error> {
    let control = |variable: &Variable| Control {
        name: variable.name.text().into_owned(),
        value: variable.value.text().into_owned(),
        named: switch_name(&variable.name.text(), &variable.value.text()),
        from: Provenance(variable.provenance.get()).name().unwrap_or("other"),
        environment: variable.environment.text().into_owned(),
        desc: image.text(&variable.desc, LONGEST_DESCRIPTION).unwrap_or_default(),
    };
    let variables = image.all::<Variable>(SectionKind::VARIABLES)?;
    Ok(variables.iter().map(|snapshot| control(&snapshot.value)).collect())
}

/// The name of a switch's value. Of other control variables, only the library knows the names.
fn switch_name(name: &str, value: &str) -> &'static str {
    let number = value.parse().ok().filter(|_: &usize| name.starts_with(SWITCHES));
    number.and_then(|number| SWITCH.get(number).copied()).unwrap_or_default()
}

/// A variable's value as text, elements separated by spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Name of the variable.
    pub name: Cow<'static, str>,
    /// Its class.
    pub class: &'static str,
    /// The value.
    pub value: String,
    /// The name of the value, or of each of its elements.
    pub names: Names,
    /// Whether the variable may not exist: only some functions have their own, and the image does not record
    /// which.
    pub if_there: bool,
}

/// What the numbers of a variable stand for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Names {
    /// Themselves.
    #[default]
    Nothing,
    /// The value has this name.
    Value(String),
    /// The elements have these names.
    Elements(Arc<[String]>),
}

impl Names {
    fn elements<T: Into<String>>(names: impl Iterator<Item = T>) -> Self {
        Self::Elements(names.map(Into::into).collect())
    }
}

fn value(name: impl Into<Cow<'static, str>>, class: &'static str, value: impl ToString) -> Value {
    Value { name: name.into(), class, value: value.to_string(), names: Names::Nothing, if_there: false }
}

impl Value {
    fn named(self, names: Names) -> Self {
        Self { names, ..self }
    }
}

fn array<T: ToString>(name: &'static str, class: &'static str, elements: impl Iterator<Item = T>) -> Value {
    value(name, class, elements.map(|element| element.to_string()).collect::<Vec<_>>().join(" "))
}

/// Returns all that is known of mpiscope's performance variables. `live`: the process is running, so the
/// present moment is meaningful.
///
/// # Errors
/// If a table is damaged.
pub fn values<S: Source>(image: &Image<S>, process: &Process, live: bool) -> Result<Vec<Value>, Error> {
    let mut values = calls(process);
    values.extend(now(process));
    if live {
        values.push(value("mpiscope_mpi_share", "PERCENTAGE", format!("{:.4}", process.share().mpi_share())));
    }
    if !process.layer_version.is_empty() {
        values.push(value("mpiscope_version", "GENERIC", &process.layer_version));
    }
    values.extend(objects(image)?);
    let traffic = image.all::<Traffic>(SectionKind::TRAFFIC)?;
    let traffic = traffic.first().map(|traffic| &traffic.value);
    let header = image.header()?;
    values.extend(TOTALS.iter().map(|total| {
        let records = Records { header: &header, traffic };
        let elements = (0..total.elements.count()).map(|element| (total.value)(records, element));
        array(total.name, "COUNTER", elements).named(total_names(total.elements))
    }));
    values.extend(traffic.into_iter().flat_map(levels));
    Ok(values)
}

fn total_names(elements: Elements) -> Names {
    match elements {
        Elements::Named(count, _, name) => {
            Names::elements((0..count).map(|at| name(at as u32).unwrap_or_default()))
        }
        Elements::Single | Elements::Array(_) => Names::Nothing,
    }
}

fn calls(process: &Process) -> Vec<Value> {
    let threads = || process.threads.iter();
    let ticks: u64 = threads().map(|thread| thread.mpi_ticks).sum();
    let mut by_function = vec![(0u64, 0u64); process.functions.iter().len()];
    let mut ways = vec![Moved::default(); by_function.len()];
    let (mut bytes, mut all) = (0u64, Moved::default());
    for counted in threads().flat_map(|thread| &thread.counters) {
        let moved = process.moved(counted);
        if let Some((function, way)) =
            by_function.get_mut(counted.function).zip(ways.get_mut(counted.function))
        {
            let (count, ticks) = (counted.count, counted.ticks);
            *function = (function.0.wrapping_add(count), function.1.wrapping_add(ticks));
            *way = way.and(moved);
        }
        bytes = bytes.wrapping_add(counted.bytes);
        all = all.and(moved);
    }
    let seconds = |ticks| (process.clock.seconds(ticks) * 1e9).round() / 1e9;
    let named = process.functions.iter().zip(&by_function).flat_map(|(function, (count, ticks))| {
        let name = format!("mpiscope_{}", function.name);
        let timer = value(format!("{name}_time"), "TIMER", seconds(*ticks));
        [value(name, "COUNTER", count), timer]
    });
    let mut values: Vec<Value> = named.map(|value| Value { if_there: true, ..value }).collect();
    let functions = Names::elements(process.functions.iter().map(|function| function.name.as_str()));
    let of_functions = |value: Value| value.named(functions.clone());
    values.extend([
        value("mpiscope_calls_total", "COUNTER", threads().map(|thread| thread.calls).sum::<u64>()),
        value("mpiscope_time_total", "TIMER", seconds(ticks)),
        of_functions(array("mpiscope_calls", "COUNTER", by_function.iter().map(|function| function.0))),
        of_functions(array("mpiscope_time", "TIMER", by_function.iter().map(|function| seconds(function.1)))),
        value("mpiscope_bytes", "AGGREGATE", bytes),
        value("mpiscope_bytes_out", "AGGREGATE", all.sent),
        value("mpiscope_bytes_in", "AGGREGATE", all.received),
        of_functions(array("mpiscope_bytes_out_by_function", "COUNTER", ways.iter().map(|way| way.sent))),
        of_functions(array("mpiscope_bytes_in_by_function", "COUNTER", ways.iter().map(|way| way.received))),
    ]);
    values
}

/// The function the main thread is in (-1 for none), and what the thread is doing.
fn now(process: &Process) -> [Value; 2] {
    let open = process.main().and_then(|thread| thread.call.as_ref()?.open());
    let name = |open| process.functions.get(open).map_or("", |function| function.name.as_str());
    let function = open.map_or(NO_FUNCTION, |open| (open as i32, name(open)));
    let status = process.activity();
    [
        value("mpiscope_function", "STATE", function.0).named(Names::Value(function.1.to_owned())),
        value("mpiscope_state", "STATE", status.0)
            .named(Names::Value(status.name().unwrap_or_default().to_owned())),
    ]
}

fn levels(traffic: &Traffic) -> Vec<Value> {
    vec![
        value("mpiscope_pending_requests", "LEVEL", traffic.pending.get()),
        value("mpiscope_posted_receives", "LEVEL", traffic.posted.get()),
        value("mpiscope_pending_requests_high", "HIGHWATERMARK", traffic.pending_high.get()),
        value("mpiscope_posted_receives_high", "HIGHWATERMARK", traffic.posted_high.get()),
        // A process starts with none.
        value("mpiscope_pending_requests_low", "LOWWATERMARK", 0),
        value("mpiscope_posted_receives_low", "LOWWATERMARK", 0),
    ]
}

/// Number of objects that the program has created and not freed. `None` if objects are not recorded.
fn objects<S: Source>(image: &Image<S>) -> Result<Option<Value>, Error> {
    let facts = image.all::<layout::Process>(SectionKind::PROCESS)?;
    let records = |process: &layout::Process| process.recording.get() & Recording::OBJECTS.0 != 0;
    if !facts.first().is_some_and(|process| records(&process.value)) {
        return Ok(None);
    }
    // The variable's elements are ordered by the numbers of the kinds.
    let mut kinds = Kind::ALL.to_vec();
    kinds.sort_by_key(|kind| kind.number());
    let reader = Reader::new(image, &ImageOnly)?;
    let counts =
        kinds.iter().map(|kind| Ok(leaks::count(&reader, *kind)?.live)).collect::<Result<Vec<_>, Error>>()?;
    let names = kinds.iter().map(|kind| kind.number().item_name());
    Ok(Some(array("mpiscope_live_objects", "LEVEL", counts.into_iter()).named(Names::elements(names))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::image_source::open_fd;
    use crate::test_image::TestImage;

    #[test]
    fn an_image_alone_names_states_switches_and_the_elements_of_arrays() {
        let sample = TestImage::new("names", 0, 2);
        sample.records(Recording::OBJECTS);
        sample.enters("MPI_Recv", [0x4400_0000, 0, 1], 1, 7);
        let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
        let process = Process::read(&image, None).unwrap();
        let values = values(&image, &process, false).unwrap();
        let names = |name: &str| values.iter().find(|value| value.name == name).unwrap().names.clone();
        assert_eq!(names("mpiscope_function"), Names::Value("MPI_Recv".into()));
        assert_eq!(names("mpiscope_state"), Names::Value("blocked in a receive or probe".into()));
        for (name, number, element) in [
            ("mpiscope_calls", sample.number("MPI_Recv"), "MPI_Recv"),
            ("mpiscope_bytes_in_by_function", sample.number("MPI_Send"), "MPI_Send"),
            ("mpiscope_live_objects", 0, "MPI_Comm"),
        ] {
            let Names::Elements(elements) = names(name) else { panic!("{name} has no names") };
            assert_eq!(elements[number], element, "{name}");
        }
        assert_eq!(
            ["0", "1", "2"].map(|value| switch_name("mpiscope_record_calls", value)),
            ["off", "on", ""]
        );
        assert_eq!(switch_name("mpiscope_tombstones", "1"), "");
    }
}
