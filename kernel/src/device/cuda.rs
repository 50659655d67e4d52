//! One run on a CUDA device: memory, kernels that are compiled once for the whole process, and the time they take.

use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_char, c_int, c_void},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Instant,
};

use super::driver::Driver;
use crate::native::ptx::emulator::Argument;

/// Threads of a block.
const BLOCK: u32 = 128;
/// Bytes of the compiler's messages that are kept.
const LOG: usize = 8_192;
/// Options of the compiler: where its messages go, and how many bytes there are.
const LOG_BUFFER: c_int = 5;
const LOG_SIZE: c_int = 6;
/// Attributes of functions: bytes of local memory, registers.
const LOCAL_BYTES: c_int = 3;
const REGISTERS: c_int = 4;
/// Attributes of devices: version of their instructions.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// What is known of a device.
pub struct Description {
    pub name: String,
    pub memory: usize,
    pub capability: (i32, i32),
}

/// A compiled kernel. It stays loaded.
#[derive(Clone, Copy)]
pub struct Kernel {
    function: usize,
    pub registers: i32,
    pub local_bytes: i32,
}

/// The text of a kernel, and the kernel once it is compiled: finding that by its text takes longer than starting it.
#[derive(Default)]
pub struct Text {
    pub text: String,
    kernel: OnceLock<Kernel>,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { text, kernel: OnceLock::new() }
    }
}

type Kernels = HashMap<(c_int, String), Arc<OnceLock<Result<Kernel, String>>>>;

/// A device in use by one thread; its memory is given back at the end.
pub struct Cuda {
    driver: &'static Driver,
    device: c_int,
    context: *mut c_void,
    held: Vec<u64>,
    events: [*mut c_void; 2],
    /// Seconds that the driver compiled, and that kernels ran.
    pub compiled: f64,
    pub ran: f64,
    pub kernel: Option<Kernel>,
}

// SAFETY: handles of the driver belong to the process: any thread may use them, and only one at a time owns this.
unsafe impl Send for Cuda {}

/// The driver's version, and every device.
pub fn describe() -> Result<((i32, i32), Vec<Description>), String> {
    let driver = Driver::get()?;
    let (mut version, mut count) = (0, 0);
    // SAFETY: the driver writes numbers into places of their size.
    unsafe {
        driver.check((driver.version)(&raw mut version), "asking for the driver's version")?;
        driver.check((driver.device_count)(&raw mut count), "counting devices")?;
    }
    let devices = (0..count).map(|number| description(driver, number)).collect::<Result<_, String>>()?;
    Ok(((version / 1000, version % 1000 / 10), devices))
}

fn description(driver: &Driver, number: c_int) -> Result<Description, String> {
    let (mut device, mut memory, mut name) = (0, 0, [0 as c_char; 128]);
    let mut capability = [0; 2];
    // SAFETY: the driver writes into places of the size that it is told.
    unsafe {
        driver.check((driver.device)(&raw mut device, number), "finding a device")?;
        driver.check((driver.device_name)(name.as_mut_ptr(), 127, device), "asking for a device's name")?;
        driver.check((driver.device_memory)(&raw mut memory, device), "asking for a device's memory")?;
        for (value, attribute) in capability.iter_mut().zip([MAJOR, MINOR]) {
            driver.check((driver.device_attribute)(value, attribute, device), "asking for a device's version")?;
        }
    }
    // SAFETY: the driver ends the name with a zero, and there was one behind it anyway.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    Ok(Description { name, memory, capability: (capability[0], capability[1]) })
}

impl Cuda {
    pub fn new(number: c_int) -> Result<Self, String> {
        let driver = Driver::get()?;
        let (_, devices) = describe()?;
        if usize::try_from(number).is_ok_and(|number| number >= devices.len()) {
            return Err(format!("there is no CUDA device {number}; this machine has {}", devices.len()));
        }
        let (mut device, mut context, mut events) = (0, std::ptr::null_mut(), [std::ptr::null_mut(); 2]);
        // SAFETY: handles of the driver are written into places of their size; the context belongs to the process.
        unsafe {
            driver.check((driver.device)(&raw mut device, number), "finding the device")?;
            driver.check((driver.retain_context)(&raw mut context, device), "opening the device")?;
            driver.check((driver.use_context)(context), "using the device")?;
            for event in &mut events {
                driver.check((driver.make_event)(event, 0), "making an event")?;
            }
        }
        Ok(Self { driver, device, context, held: Vec::new(), events, compiled: 0.0, ran: 0.0, kernel: None })
    }

    /// Refuse what does not fit before anything is allocated.
    pub fn require(&self, bytes: usize) -> Result<(), String> {
        let (mut free, mut all) = (0, 0);
        // SAFETY: two numbers are written.
        let asked = unsafe { (self.driver.free_memory)(&raw mut free, &raw mut all) };
        self.driver.check(asked, "asking for free memory")?;
        if bytes <= free {
            return Ok(());
        }
        let gib = |bytes: usize| bytes as f64 / (1_u64 << 30) as f64;
        Err(format!(
            "the run needs {:.1} GiB of the device's memory, {:.1} of {:.1} GiB are free; take fewer accounts or \
             scenarios at a time",
            gib(bytes),
            gib(free),
            gib(all)
        ))
    }

    pub fn allocate(&mut self, bytes: usize) -> Result<u64, String> {
        let mut place = 0;
        // SAFETY: the place is written; memory is filled up to its size.
        unsafe {
            self.driver.check((self.driver.allocate)(&raw mut place, bytes.max(8)), "allocating device memory")?;
            self.held.push(place);
            self.driver.check((self.driver.fill)(place, 0, bytes.max(8)), "clearing device memory")?;
        }
        Ok(place)
    }

    pub fn write(&mut self, place: u64, bytes: &[u8]) -> Result<(), String> {
        // SAFETY: the driver reads this many bytes here; the place is memory of the device, allocated with as many.
        let copied = unsafe { (self.driver.copy_in)(place, bytes.as_ptr().cast(), bytes.len()) };
        self.driver.check(copied, "copying to the device")
    }

    pub fn read(&mut self, place: u64, bytes: &mut [u8]) -> Result<(), String> {
        // SAFETY: the driver writes this many bytes here; the place is memory of the device, allocated with as many.
        let copied = unsafe { (self.driver.copy_out)(bytes.as_mut_ptr().cast(), place, bytes.len()) };
        self.driver.check(copied, "copying from the device")
    }

    /// The kernel of a text, compiled at most once in this process.
    pub fn compile(&mut self, text: &str, name: &str) -> Result<Kernel, String> {
        static KERNELS: OnceLock<Mutex<Kernels>> = OnceLock::new();
        let place = {
            let mut kernels = KERNELS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(kernels.entry((self.device, text.to_owned())).or_default())
        };
        let began = Instant::now();
        // Others who want the same kernel wait; kernels that differ are compiled at the same time.
        let kernel = place.get_or_init(|| self.load(text, name)).clone()?;
        self.compiled += began.elapsed().as_secs_f64();
        self.kernel = Some(kernel);
        Ok(kernel)
    }

    fn load(&self, text: &str, name: &str) -> Result<Kernel, String> {
        let [text, name] = [text, name].map(|text| CString::new(text).unwrap_or_default());
        let (driver, mut log) = (self.driver, vec![0_u8; LOG]);
        let mut options = [LOG_BUFFER, LOG_SIZE];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG)];
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text ends with a zero, and the options say how many bytes there are for messages.
        let loaded = unsafe {
            (driver.load_module)(&raw mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        let messages = String::from_utf8_lossy(&log);
        let messages = messages.trim_matches(['\0', '\n']);
        driver.check(loaded, "compiling for the device").map_err(|error| format!("{error}: {messages}"))?;
        let mut attributes = [0; 2];
        // SAFETY: the module was loaded a moment ago and stays.
        unsafe {
            driver.check((driver.find_function)(&raw mut function, module, name.as_ptr()), "finding the kernel")?;
            for (value, attribute) in attributes.iter_mut().zip([REGISTERS, LOCAL_BYTES]) {
                driver.check((driver.function_attribute)(value, attribute, function), "asking about the kernel")?;
            }
        }
        Ok(Kernel { function: function.expose_provenance(), registers: attributes[0], local_bytes: attributes[1] })
    }

    /// Have a stream run a kernel with so many threads, so many in a block, and do not wait. Memory is that of others.
    ///
    /// # Safety
    /// All places that the kernel is given are the device's memory, and the kernel's until it has run.
    pub unsafe fn start(
        &mut self,
        text: &Text,
        name: &str,
        threads: [u32; 2],
        given: &[Argument],
        stream: u64,
    ) -> Result<(), String> {
        // SAFETY: the context was retained when the device was opened.
        self.driver.check(unsafe { (self.driver.use_context)(self.context) }, "using the device")?;
        let kernel = match text.kernel.get() {
            Some(kernel) => *kernel,
            None => {
                let kernel = self.compile(&text.text, name)?;
                *text.kernel.get_or_init(|| kernel)
            }
        };
        self.enqueue(kernel, threads, given, stream)
    }

    fn enqueue(
        &self,
        kernel: Kernel,
        [threads, block]: [u32; 2],
        given: &[Argument],
        stream: u64,
    ) -> Result<(), String> {
        let mut given = given.to_vec();
        let mut places = places(&mut given);
        let blocks = threads.div_ceil(block);
        let stream = std::ptr::with_exposed_provenance_mut(stream as usize);
        let function = std::ptr::with_exposed_provenance_mut(kernel.function);
        let none = std::ptr::null_mut();
        // SAFETY: the kernel's text was printed for parameters of exactly these sizes, which the driver copies before it
        // returns. It reads and writes only memory that it was given: allocated here, or promised to `start`.
        let started =
            unsafe { (self.driver.launch)(function, blocks, 1, 1, block, 1, 1, 0, stream, places.as_mut_ptr(), none) };
        self.driver.check(started, "starting the kernel")
    }

    /// Run a kernel with so many threads and wait for its end.
    pub fn launch(&mut self, text: &str, name: &str, threads: u64, given: &[Argument]) -> Result<(), String> {
        let kernel = self.compile(text, name)?;
        let driver = self.driver;
        let [before, after] = self.events;
        let mut milliseconds = 0.0;
        // SAFETY: the events were made by this driver.
        unsafe { driver.check((driver.record_event)(before, std::ptr::null_mut()), "recording an event")? };
        self.enqueue(kernel, [threads as u32, BLOCK], given, 0)?;
        // SAFETY: as above, and a number is written.
        unsafe {
            driver.check((driver.record_event)(after, std::ptr::null_mut()), "recording an event")?;
            driver.check((driver.await_event)(after), "running the kernel")?;
            driver.check((driver.elapsed)(&raw mut milliseconds, before, after), "timing the kernel")?;
        }
        self.ran += f64::from(milliseconds) / 1e3;
        Ok(())
    }
}

/// Where each argument is.
fn places(given: &mut [Argument]) -> Vec<*mut c_void> {
    let place = |argument: &mut Argument| match argument {
        Argument::Place(place) => std::ptr::from_mut(place).cast(),
        Argument::Number(number) => std::ptr::from_mut(number).cast(),
    };
    given.iter_mut().map(place).collect()
}

impl Drop for Cuda {
    fn drop(&mut self) {
        for place in self.held.drain(..) {
            // SAFETY: allocated here, and nothing runs any more.
            unsafe { (self.driver.free)(place) };
        }
        for event in self.events {
            // SAFETY: made here.
            unsafe { (self.driver.drop_event)(event) };
        }
    }
}
