//! A loaded graph: what it wants is read from the session, never assumed.
//!
//! Exports of the same model differ: position ids or none, a key/value cache or none. The cache is
//! fed with length 0, and only the descriptor's output is asked for, so no cache is ever computed
//! into the answer.

use super::pool::States;
use super::tokens::Window;
use super::{Descriptor, Pooling};
use ort::environment::Environment;
use ort::memory::Allocator;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{HasSelectedOutputs, OutputSelector, RunOptions, Session, SessionInputValue};
use ort::value::{DynTensor, Outlet, Shape, Tensor, TensorElementType, ValueType};
use std::borrow::Cow;
use std::path::Path;

/// A session with the list of what to feed it.
pub(super) struct Graph {
    session: Session,
    feeds: Vec<(String, Feed)>,
    options: RunOptions<HasSelectedOutputs>,
    output: String,
    pooling: Pooling,
}

/// What an input gets.
enum Feed {
    Ids,
    Mask,
    Positions,
    Zeros,
    /// An empty cache of this type and shape; negative sizes are the batch (first) or 0.
    EmptyCache(TensorElementType, Vec<i64>),
}

impl Graph {
    /// Loads the graph for inference on `threads` threads that do not spin while they wait.
    pub fn load(
        environment: &Environment,
        file: &Path,
        descriptor: &Descriptor,
        threads: usize,
    ) -> Result<Self, String> {
        let session = commit(environment, file, threads)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let feeds = session.inputs().iter().map(feed).collect::<Result<_, _>>()?;
        let output = descriptor.output.clone();
        if !session.outputs().iter().any(|known| known.name() == output) {
            return Err(format!("{}: the graph has no output `{output}`", file.display()));
        }
        let selected = OutputSelector::no_default().with(&output);
        let options = RunOptions::new().map_err(|error| error.to_string())?.with_outputs(selected);
        Ok(Self { session, feeds, options, output, pooling: descriptor.pooling })
    }

    /// The vectors of texts that share a run, not normalised. Shorter ones are filled at the end
    /// with `pad_id`, which the mask hides.
    pub fn run(&mut self, windows: &[&Window], pad_id: u32) -> Result<Vec<Vec<f32>>, String> {
        self.run_inner(windows, pad_id).map_err(|error| error.to_string())
    }

    fn run_inner(&mut self, windows: &[&Window], pad_id: u32) -> ort::Result<Vec<Vec<f32>>> {
        let width = windows.iter().map(|window| window.len()).max().unwrap_or(0);
        let inputs = self.inputs(windows, width, pad_id)?;
        let outputs = self.session.run_with_options(inputs, &self.options)?;
        let output = outputs.get(&self.output).ok_or_else(|| ort::Error::new("no output"))?;
        let (shape, data) = output.try_extract_tensor::<f32>()?;
        let states = states(shape, data, windows.len(), self.pooling)?;
        let pool = |(row, window): (usize, &&Window)| states.pool(row, window.len(), self.pooling);
        Ok(windows.iter().enumerate().map(pool).collect())
    }

    fn inputs(
        &self,
        windows: &[&Window],
        width: usize,
        pad_id: u32,
    ) -> ort::Result<Vec<(Cow<'static, str>, SessionInputValue<'static>)>> {
        let rows = windows.len();
        let fill =
            |value: &dyn Fn(&Window, usize) -> i64| -> ort::Result<SessionInputValue<'static>> {
                let cells =
                    windows.iter().flat_map(|window| (0..width).map(|at| value(window, at)));
                Ok(Tensor::from_array(([rows, width], cells.collect::<Vec<i64>>()))?.into())
            };
        let value = |feed: &Feed| match feed {
            Feed::Ids => fill(&|window, at| i64::from(*window.get(at).unwrap_or(&pad_id))),
            Feed::Mask => fill(&|window, at| i64::from(at < window.len())),
            Feed::Positions => fill(&|_, at| at as i64),
            Feed::Zeros => fill(&|_, _| 0),
            Feed::EmptyCache(kind, shape) => empty(*kind, shape, rows),
        };
        self.feeds.iter().map(|(name, feed)| Ok((name.clone().into(), value(feed)?))).collect()
    }
}

pub(super) fn commit(
    environment: &Environment,
    file: &Path,
    threads: usize,
) -> ort::Result<Session> {
    // The builder's errors cannot leave the thread, so they are turned into plain ones here. The
    // arena keeps what the largest batch took, which is little since batches are bounded; mapping
    // it anew for each run costs a fifth of the time.
    let processor = ort::ep::CPU::default().with_arena_allocator(true).build();
    Session::builder(environment)?
        .with_execution_providers([processor])?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        .with_intra_op_spinning(false)?
        .with_memory_pattern(false)?
        .commit_from_file(file)
}

fn feed(input: &Outlet) -> Result<(String, Feed), String> {
    let name = input.name().to_string();
    let ValueType::Tensor { ty, shape, .. } = input.dtype() else {
        return Err(format!("the graph's input `{name}` is no tensor"));
    };
    let feed = match name.as_str() {
        "input_ids" => Feed::Ids,
        "attention_mask" => Feed::Mask,
        "position_ids" => Feed::Positions,
        "token_type_ids" => Feed::Zeros,
        _ if name.starts_with("past_key_values.") => {
            return Ok((name, Feed::EmptyCache(*ty, shape.to_vec())));
        }
        _ => return Err(format!("the graph wants an input `{name}` that is not known")),
    };
    match ty {
        TensorElementType::Int64 => Ok((name, feed)),
        other => Err(format!("the graph's input `{name}` is {other:?}, only int64 is fed")),
    }
}

fn empty(
    kind: TensorElementType,
    shape: &[i64],
    rows: usize,
) -> ort::Result<SessionInputValue<'static>> {
    let sizes = shape.iter().enumerate().map(|(axis, &size)| match (axis, size) {
        (0, _) => rows as i64,
        (_, size) => size.max(0),
    });
    Ok(DynTensor::new(&Allocator::default(), kind, Shape::new(sizes))?.into())
}

fn states<'a>(
    shape: &[i64],
    data: &'a [f32],
    rows: usize,
    pooling: Pooling,
) -> ort::Result<States<'a>> {
    let (width, hidden) = match (shape, pooling) {
        ([_, width, hidden], _) => (*width as usize, *hidden as usize),
        ([_, hidden], Pooling::None) => (1, *hidden as usize),
        _ => return Err(ort::Error::new(format!("an output of shape {shape:?} cannot be pooled"))),
    };
    if data.len() != rows * width * hidden {
        return Err(ort::Error::new(format!("an output of shape {shape:?} for {rows} texts")));
    }
    Ok(States { data, width, hidden })
}
