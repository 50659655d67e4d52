//! Rows on a device seen from Python: kernels over memory of others, and how rows of a `Fleet` get there and back.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use super::{
    Device,
    binding::{DeviceError, Took},
    layout::{Chain, Wiring, indexes_of},
    rows::{self, Ground},
};
use crate::{
    native::ptx::{
        emulator::Argument,
        step::{Style, print_renewal},
    },
    rows::{fleet::Fleet, program::Program},
};

/// Kernels as text.
#[derive(Default)]
struct Texts {
    step: String,
    renewal: String,
}

/// A program whose known paths are one kernel, over rows in planes of limbs.
#[pyclass(module = "mayavi._kernel", frozen)]
pub struct DeviceFleet {
    device: Mutex<Device>,
    wiring: Wiring,
    /// Threads of a block.
    threads: u32,
    renewed: Vec<u32>,
    /// What rows keep; kernels over the same rows share it.
    chain: Arc<Mutex<Chain>>,
    texts: Mutex<Texts>,
    generation: Mutex<Option<u64>>,
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
            device: Mutex::new(Device::open(device).map_err(DeviceError::new_err)?),
            wiring,
            threads,
            renewed,
            chain: like.map_or_else(|| Arc::new(Mutex::new(Chain::new())), |like| Arc::clone(&like.chain)),
            texts: Mutex::default(),
            generation: Mutex::default(),
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

    /// Print the kernels of all paths that rows of the fleet took, up to `most` of them. The first `starts` rows of the
    /// fleet stand where episodes begin; after that a row adds fewer than `spread` entries to a mapping. `wide` kernels
    /// take words of any size, not only of the sizes that were seen, and are slower. Returns how many paths there are;
    /// what is kept may have grown.
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
            let mut tree = all.device_tree(program, 1, most)?;
            if wide {
                tree.likely.clear();
            }
            let (leaves, generation) = (tree.leaves.len(), tree.generation);
            let mut chain = locked(&self.chain);
            let indexes = indexes_of(Ground { world, settings }, all, &tree, rows, spread)?;
            let step = self.wiring.print(all, &mut chain, tree, &indexes)?;
            Ok::<_, String>((step, leaves, generation))
        });
        let (step, leaves, generation) = printed.map_err(DeviceError::new_err)?;
        locked(&self.texts).step = step;
        *locked(&self.generation) = Some(generation);
        self.print_renewal();
        Ok(leaves)
    }

    /// Whether the paths that the kernel was made of still hold on every row.
    fn is_current(&self, fleet: &Fleet, program: &Program) -> bool {
        let generation = *locked(&self.generation);
        let current = |generation| fleet.specialiser().is_some_and(|all| all.is_current(program, generation));
        generation.is_some_and(current)
    }

    /// The kernels as text: a step, and new episodes.
    fn ptx(&self) -> (String, String) {
        let texts = locked(&self.texts);
        (texts.step.clone(), texts.renewal.clone())
    }

    /// Compile both kernels. Returns what the one of a step took and uses.
    fn compile<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let took: Result<Took, String> = py.detach(|| {
            let (mut device, texts) = (locked(&self.device), locked(&self.texts));
            if let Device::Cuda(cuda) = &mut *device {
                cuda.compile(&texts.renewal, "renew")?;
                cuda.compile(&texts.step, "step")?;
            }
            Ok(Took::of(&device))
        });
        took.map_err(DeviceError::new_err)?.into_python(py)
    }

    /// Run part number `part`, from 1, of a step. `memory`: places and bytes of what is given, of what is kept, of
    /// singles, of the numbers of rows that are left out, of their count, of an order of all rows (0 for none), of
    /// leaves, and of the part that each row was left out of.
    fn step(&self, py: Python<'_>, rows: u32, part: u32, memory: Memory, stream: u64) -> PyResult<()> {
        let counts = [rows, part].map(Argument::Number);
        py.detach(|| self.start("step", &locked(&self.texts).step, rows, &memory, &counts, stream))
            .map_err(DeviceError::new_err)
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
        py.detach(|| self.start("renew", &locked(&self.texts).renewal, rows, &memory, &counts, stream))
            .map_err(DeviceError::new_err)
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
        let (world, settings, all, _) = fleet.parts();
        let mut limbs = Vec::with_capacity(rows.len() * width as usize);
        for row in &rows {
            rows::read(Ground { world, settings }, &mut all[*row], wanted, &mut limbs)
                .map_err(|failure| failure.into_python(py))?;
        }
        let found = PyArray2::<u64>::zeros(py, [width as usize, rows.len()], false);
        // SAFETY: the array was made a line above and nothing else refers to it.
        let mut view = unsafe { found.as_array_mut() };
        for (at, limb) in limbs.into_iter().enumerate() {
            view[[at % width as usize, at / width as usize]] = limb;
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
        let (world, settings, all, _) = fleet.parts();
        let view = limbs.as_array();
        for (at, (row, start)) in rows.iter().zip(&starts).enumerate() {
            all[*row] = all[*start].clone();
            let limbs = view.column(at).to_vec();
            rows::write(Ground { world, settings }, &mut all[*row], &chain.all, &limbs)
                .map_err(|failure| failure.into_python(py))?;
        }
        Ok(())
    }

    /// Keep whatever rows have changed since their `starts` too. Returns whether there was anything.
    fn extend(&self, py: Python<'_>, fleet: &mut Fleet, rows: Vec<usize>, starts: Vec<usize>) -> PyResult<bool> {
        rows.iter().chain(&starts).try_for_each(|row| fleet.check(*row))?;
        let mut chain = locked(&self.chain);
        let before = chain.all.len();
        let (world, settings, all, specialiser) = fleet.parts();
        let specialiser = specialiser.ok_or_else(|| DeviceError::new_err("transactions are not replayed"))?;
        for (row, start) in rows.iter().zip(&starts) {
            let mut begun = all[*start].clone();
            let found = rows::strays(Ground { world, settings }, specialiser, &chain, &mut begun, &mut all[*row])
                .map_err(|failure| failure.into_python(py))?;
            found.into_iter().for_each(|kept| _ = chain.place(kept));
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
        locked(&self.texts).renewal = print_renewal(&self.renewed, planes, self.wiring.columns);
    }

    fn start(
        &self,
        name: &str,
        text: &str,
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
