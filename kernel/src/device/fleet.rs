//! Rows on a device seen from Python: kernels over memory of others, and how rows of a `Fleet` get there and back.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use super::{
    Device,
    binding::{DeviceError, Took},
    cuda::Text,
    layout::{Chain, Kept, Wiring, placed},
    rows::{self, Ground},
};
use crate::{
    native::ptx::{
        emulator::Argument,
        step::{Style, Tier, print_renewal},
    },
    rows::{fleet::Fleet, program::Program},
};

/// The kernels of a step: one for words of the sizes that were seen, and perhaps one for words of any size, which takes
/// the rows that the first one leaves out.
#[derive(Default)]
struct Kernels {
    step: Text,
    wide: Option<Text>,
    /// How often the paths of the program had been forgotten.
    generation: Option<u64>,
}

/// A program whose known paths are one kernel, over rows in planes of limbs.
#[pyclass(module = "mayavi._kernel", frozen)]
pub struct DeviceFleet {
    name: String,
    device: Mutex<Device>,
    wiring: Wiring,
    /// Threads of a block.
    threads: u32,
    renewed: Vec<u32>,
    /// What rows keep; kernels over the same rows share it.
    chain: Arc<Mutex<Chain>>,
    /// In use, and printed to be used next.
    kernels: Mutex<Arc<Kernels>>,
    next: Mutex<Arc<Kernels>>,
    renewal: Mutex<Arc<Text>>,
}

fn locked<T>(place: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Places of memory and its bytes: the first ones are the kernel's parameters.
type Memory = Vec<(u64, usize)>;

#[pymethods]
impl DeviceFleet {
    /// `given`: inputs of the program by name, each with its first plane and the planes of a word. `fixed`: inputs that
    /// are the same on every row. `outputs`: name, `word`, `rounded` or `single`, first plane or column, and the planes
    /// of a word. `renewed`: planes of what is given that a new episode sets. `like`: a kernel over the same rows. `threads` of a block, most `registers` of
    /// one, and from which size on products are calls (0: none) decide how fast the kernel is, and nothing else.
    #[new]
    #[pyo3(signature = (program, given, fixed, outputs, renewed, device, like=None, threads=128, registers=0, products=0))]
    #[allow(clippy::too_many_arguments, reason = "what a kernel needs")]
    fn new(
        program: &Program,
        given: Vec<(String, u32, u32)>,
        fixed: Vec<(String, u64)>,
        outputs: Vec<(String, String, u32, u32)>,
        renewed: Vec<u32>,
        device: &str,
        like: Option<&DeviceFleet>,
        threads: u32,
        registers: u32,
        products: usize,
    ) -> PyResult<Self> {
        let style = Style { registers, called_products: products };
        let wiring = Wiring::new(program, &given, &fixed, &outputs, style).map_err(PyValueError::new_err)?;
        Ok(Self {
            name: device.to_owned(),
            device: Mutex::new(Device::open(device).map_err(DeviceError::new_err)?),
            wiring,
            threads,
            renewed,
            chain: like.map_or_else(|| Arc::new(Mutex::new(Chain::new())), |like| Arc::clone(&like.chain)),
            kernels: Mutex::default(),
            next: Mutex::default(),
            renewal: Mutex::default(),
        })
    }

    /// Planes of what a row keeps of its chain.
    #[getter]
    fn planes(&self) -> u32 {
        locked(&self.chain).planes()
    }

    /// Refuse what does not fit into the device's memory.
    fn require(&self, bytes: usize) -> PyResult<()> {
        locked(&self.device).require(bytes.div_ceil(8)).map_err(DeviceError::new_err)
    }

    /// Keep the mappings of all paths that `print` would print. Slots of one that are kept by themselves before have no
    /// place in it any more.
    fn reserve(
        &self,
        py: Python<'_>,
        fleet: &mut Fleet,
        program: &Program,
        starts: usize,
        spread: u64,
        most: usize,
    ) -> PyResult<()> {
        let (world, settings, rows, all) = fleet.parts();
        let all = all.ok_or_else(|| DeviceError::new_err("transactions are not replayed"))?;
        let (rows, ground) = (&rows[..starts.min(rows.len())], Ground { world, settings });
        let kept = || placed(ground, all, &mut locked(&self.chain), (program, most), (rows, spread)).map(|_| ());
        py.detach(kept).map_err(DeviceError::new_err)
    }

    /// Print the kernels of all paths that rows of the fleet took, up to `most` of them. The first `starts` rows of the
    /// fleet stand where episodes begin; after that a row adds fewer than `spread` entries to a mapping. With `wide` a
    /// second kernel takes the rows whose words are wider than those that were seen. They are used after `adopt`, and
    /// compiled before. Returns how many paths there are; what is kept may have grown.
    #[pyo3(signature = (fleet, program, starts, spread, most=255, wide=false))]
    #[allow(clippy::too_many_arguments)]
    fn print(
        &self,
        py: Python<'_>,
        fleet: &mut Fleet,
        program: &Program,
        starts: usize,
        spread: u64,
        most: usize,
        wide: bool,
    ) -> PyResult<usize> {
        let (world, settings, rows, all) = fleet.parts();
        let all = all.ok_or_else(|| DeviceError::new_err("transactions are not replayed"))?;
        let rows = &rows[..starts.min(rows.len())];
        let printed = py.detach(|| {
            let (ground, mut chain) = (Ground { world, settings }, locked(&self.chain));
            let (tree, indexes) = placed(ground, all, &mut chain, (program, most), (rows, spread))?;
            let mut print = |wide| self.wiring.print(all, &mut chain, &tree, &indexes, wide).map(Text::from);
            let (step, wide) = (print(false)?, wide.then(|| print(true)).transpose()?);
            Ok::<_, String>((Kernels { step, wide, generation: Some(tree.generation) }, tree.leaves.len()))
        });
        let (kernels, leaves) = printed.map_err(DeviceError::new_err)?;
        *locked(&self.next) = Arc::new(kernels);
        self.print_renewal();
        Ok(leaves)
    }

    /// Whether the paths that the kernel was made of still hold on every row.
    fn is_current(&self, fleet: &Fleet, program: &Program) -> bool {
        let generation = locked(&self.kernels).generation;
        let current = |generation| fleet.specialiser().is_some_and(|all| all.is_current(program, generation));
        generation.is_some_and(current)
    }

    /// The kernels in use as text: a step, and new episodes.
    fn ptx(&self) -> (String, String) {
        (locked(&self.kernels).step.text.clone(), locked(&self.renewal).text.clone())
    }

    /// The kernels that were printed last, as text.
    fn printed(&self) -> Vec<String> {
        let next = Arc::clone(&locked(&self.next));
        next.wide.iter().chain([&next.step]).map(|kernel| kernel.text.clone()).collect()
    }

    /// Compile what was printed last, while steps may go on. Returns what the first kernel of a step took and uses.
    fn compile<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let took: Result<Took, String> = py.detach(|| {
            let (mut device, next) = (Device::open(&self.name)?, Arc::clone(&locked(&self.next)));
            if let Device::Cuda(cuda) = &mut device {
                for kernel in next.wide.iter().chain([&next.step]) {
                    cuda.compile(&kernel.text, "step")?;
                }
            }
            Ok(Took::of(&device))
        });
        took.map_err(DeviceError::new_err)?.into_python(py)
    }

    /// Use what was printed last from the next step on.
    fn adopt(&self) {
        let next = Arc::clone(&locked(&self.next));
        *locked(&self.kernels) = next;
    }

    /// Run part number `part`, from 1, of a step. `memory`: places and bytes of what is given, of what is kept, of
    /// singles, of the numbers of rows that are left out, of their count, of an order of all rows (0 for none), of
    /// leaves, and of the part that each row was left out of.
    fn step(&self, py: Python<'_>, rows: u32, part: u32, memory: Memory, stream: u64) -> PyResult<()> {
        let kernels = Arc::clone(&locked(&self.kernels));
        let tiers = match &kernels.wide {
            None => vec![(Tier::Only, &kernels.step)],
            Some(wide) => vec![(Tier::First, &kernels.step), (Tier::Second, wide)],
        };
        let start = |(tier, text): (Tier, &Text)| {
            let counts = [rows, part, tier as u32].map(Argument::Number);
            self.start("step", text, rows, &memory, &counts, stream)
        };
        py.detach(|| tiers.into_iter().try_for_each(start)).map_err(DeviceError::new_err)
    }

    /// Count what emulated kernels do from now on. Returns what they did since the last call: instructions of lanes,
    /// those of them on 64 bits, instructions that warps issued, bytes of memory read and written.
    fn count(&self) -> PyResult<(u64, u64, u64, u64, u64)> {
        let work = locked(&self.device).count().map_err(DeviceError::new_err)?;
        Ok((work.instructions, work.wide, work.issued, work.loaded, work.stored))
    }

    /// Begin new episodes. `memory`: as above what is given, kept, and singles; then the singles of the present, what is
    /// given, kept and seen at the starts, which rows ended, and the start of each.
    fn renew(&self, py: Python<'_>, rows: u32, starts: u32, memory: Memory, stream: u64) -> PyResult<()> {
        let counts = [rows, starts].map(Argument::Number);
        let renewal = Arc::clone(&locked(&self.renewal));
        py.detach(|| self.start("renew", &renewal, rows, &memory, &counts, stream)).map_err(DeviceError::new_err)
    }

    /// What rows of the fleet keep, from the plane `first` on: (planes, rows) limbs.
    #[pyo3(signature = (fleet, rows, first=0))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        fleet: &mut Fleet,
        rows: Vec<usize>,
        first: u32,
    ) -> PyResult<Bound<'py, PyArray2<u64>>> {
        rows.iter().try_for_each(|row| fleet.check(*row))?;
        let chain = locked(&self.chain);
        let wanted = chain.since(first);
        let width: u32 = wanted.iter().map(|kept| kept.width()).sum();
        let limbs = vec![Vec::with_capacity(width as usize); rows.len()];
        let limbs = py.detach(|| {
            fleet.share(&rows, limbs, |world, settings, _, row, limbs| {
                rows::read(Ground { world, settings }, row, wanted, limbs)
            })
        });
        let limbs = limbs.map_err(|failure| failure.into_python(py))?;
        let found = PyArray2::<u64>::zeros(py, [width as usize, rows.len()], false);
        // SAFETY: the array was made a line above and nothing else refers to it.
        let mut view = unsafe { found.as_array_mut() };
        for (row, limbs) in limbs.into_iter().enumerate() {
            limbs.into_iter().enumerate().for_each(|(plane, limb)| view[[plane, row]] = limb);
        }
        Ok(found)
    }

    /// Let rows of the fleet become like `starts`, and keep these limbs: (planes, rows).
    fn write(
        &self,
        py: Python<'_>,
        fleet: &mut Fleet,
        rows: Vec<usize>,
        starts: Vec<usize>,
        limbs: PyReadonlyArray2<'_, u64>,
    ) -> PyResult<()> {
        rows.iter().chain(&starts).try_for_each(|row| fleet.check(*row))?;
        let chain = locked(&self.chain);
        if limbs.shape() != [chain.planes() as usize, rows.len()] || starts.len() != rows.len() {
            return Err(PyValueError::new_err("planes of another shape than the rows'"));
        }
        let view = limbs.as_array();
        let given = starts.into_iter().enumerate().map(|(at, start)| (start, view.column(at).to_vec())).collect();
        let written = py.detach(|| {
            fleet.share(&rows, given, |world, settings, others, row, (start, limbs)| {
                row.set_to(&others[*start]);
                rows::write(Ground { world, settings }, row, &chain.all, limbs)
            })
        });
        written.map(|_| ()).map_err(|failure| failure.into_python(py))
    }

    /// Keep whatever rows have changed since their `starts` too. Returns whether there was anything.
    fn extend(&self, py: Python<'_>, fleet: &mut Fleet, rows: Vec<usize>, starts: Vec<usize>) -> PyResult<bool> {
        rows.iter().chain(&starts).try_for_each(|row| fleet.check(*row))?;
        let mut chain = locked(&self.chain);
        let before = chain.all.len();
        let given = starts.into_iter().map(|start| (start, Vec::new())).collect();
        let found = py.detach(|| {
            fleet.share(&rows, given, |world, settings, others, row, (start, found)| {
                *found = rows::strays(Ground { world, settings }, &chain, &mut others[*start].clone(), row)?;
                Ok(())
            })
        });
        let found = found.map_err(|failure| failure.into_python(py))?;
        let specialiser = fleet.specialiser().ok_or_else(|| DeviceError::new_err("transactions are not replayed"))?;
        for (address, stray) in found.into_iter().flat_map(|(_, found)| found) {
            let number = |key| specialiser.slot_number(address, key);
            let kept = match stray {
                None => Some(Kept::Nonce(address)),
                Some(key) => number(key).map(|number| Kept::Slot(number, address, key)),
            };
            chain.place(kept.ok_or_else(|| DeviceError::new_err("too many slots change for a device"))?);
        }
        let grown = chain.all.len() > before;
        drop(chain);
        if grown {
            self.print_renewal();
        }
        Ok(grown)
    }
}

impl DeviceFleet {
    fn print_renewal(&self) {
        let planes = locked(&self.chain).planes();
        let text = print_renewal(&self.renewed, planes, self.wiring.columns);
        let mut renewal = locked(&self.renewal);
        if renewal.text != text {
            *renewal = Arc::new(Text::from(text));
        }
    }

    fn start(
        &self,
        name: &str,
        text: &Text,
        rows: u32,
        memory: &[(u64, usize)],
        counts: &[Argument],
        stream: u64,
    ) -> Result<(), String> {
        let places = memory.iter().map(|(place, _)| Argument::Place(*place));
        let given: Vec<Argument> = places.chain(counts.iter().copied()).collect();
        // SAFETY: the arrays behind these places are held by the caller, who runs one kernel at a time.
        unsafe { locked(&self.device).start(text, name, [rows, self.threads], &given, (stream, memory)) }
    }
}
