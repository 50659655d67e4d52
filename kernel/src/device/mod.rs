//! Devices that run PTX: a GPU behind the CUDA driver, or an emulator on the processor.

pub mod binding;
mod cuda;
mod driver;
pub mod fleet;
mod job;
mod layout;
mod rows;
#[cfg(test)]
mod tests;

pub use cuda::describe;
use cuda::{Cuda, Text};

use crate::native::ptx::{
    emulator::{Argument, Emulator},
    work::Work,
};

/// Threads of an emulated block.
const EMULATED_BLOCK: u64 = 32;

/// A device in use.
pub enum Device {
    Cuda(Box<Cuda>),
    Emulated(Emulator),
}

impl Device {
    /// `cuda`, `cuda:1`, or `emulated`.
    pub fn open(name: &str) -> Result<Self, String> {
        let number = match name {
            "emulated" => return Ok(Self::Emulated(Emulator::default())),
            "cuda" => Some(0),
            _ => name.strip_prefix("cuda:").and_then(|number| number.parse().ok()),
        };
        match number {
            Some(number) => Ok(Self::Cuda(Box::new(Cuda::new(number)?))),
            None => Err(format!("there is no device '{name}'; it is one of: cuda, cuda:0 and so on, emulated")),
        }
    }

    fn require(&self, words: usize) -> Result<(), String> {
        match self {
            Self::Cuda(cuda) => cuda.require(8 * words),
            Self::Emulated(_) => Ok(()),
        }
    }

    /// Count what kernels do from now on. Returns what they did since the last call.
    fn count(&mut self) -> Result<Work, String> {
        match self {
            Self::Cuda(_) => Err("a GPU does not count its instructions; the device 'emulated' does".into()),
            Self::Emulated(emulator) => Ok(emulator.count()),
        }
    }

    /// Compile a kernel, so that it is there when it is started.
    fn compile(&mut self, text: &str, kernel: &str) -> Result<(), String> {
        match self {
            Self::Cuda(cuda) => cuda.compile(text, kernel).map(|_| ()),
            Self::Emulated(emulator) => emulator.compile(text),
        }
    }

    fn zeros(&mut self, words: usize) -> Result<Argument, String> {
        let bytes = 8 * words.max(1);
        Ok(Argument::Place(match self {
            Self::Cuda(cuda) => cuda.allocate(bytes)?,
            Self::Emulated(emulator) => emulator.allocate(bytes),
        }))
    }

    fn upload(&mut self, words: &[u64]) -> Result<Argument, String> {
        let place = self.zeros(words.len())?;
        let Argument::Place(at) = place else { return Ok(place) };
        let bytes = bytes_of(words);
        match self {
            Self::Cuda(cuda) => cuda.write(at, bytes)?,
            Self::Emulated(emulator) => emulator.write(at, bytes),
        }
        Ok(place)
    }

    fn download(&mut self, place: Argument, count: usize) -> Result<Vec<u64>, String> {
        let mut words = vec![0_u64; count];
        let Argument::Place(at) = place else { return Ok(words) };
        // SAFETY: the words are these bytes, any bytes are words, and nothing uses the words until the bytes are dropped.
        let bytes = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 8 * count) };
        match self {
            Self::Cuda(cuda) => cuda.read(at, bytes)?,
            Self::Emulated(emulator) => emulator.read(at, bytes),
        }
        Ok(words)
    }

    /// Have a stream run a kernel over memory of others, and do not wait.
    ///
    /// # Safety
    /// All `memory`, places and bytes, is the kernel's until it has run.
    unsafe fn start(
        &mut self,
        text: &Text,
        kernel: &str,
        [threads, block]: [u32; 2],
        given: &[Argument],
        (stream, memory): (u64, &[(u64, usize)]),
    ) -> Result<(), String> {
        match self {
            // SAFETY: promised by the caller.
            Self::Cuda(cuda) => unsafe { cuda.start(text, kernel, [threads, block], given, stream) },
            Self::Emulated(emulator) => {
                // SAFETY: promised by the caller until the kernel has run; then it is taken back.
                unsafe { emulator.lend(memory) };
                let done = emulator.launch(&text.text, kernel, u64::from(threads), EMULATED_BLOCK, given);
                emulator.take_back();
                done
            }
        }
    }

    fn launch(&mut self, text: &str, kernel: &str, threads: u64, given: &[Argument]) -> Result<(), String> {
        match self {
            Self::Cuda(cuda) => cuda.launch(text, kernel, threads, given),
            Self::Emulated(emulator) => emulator.launch(text, kernel, threads, EMULATED_BLOCK, given),
        }
    }
}

fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: words are bytes, eight each, without padding; they stay borrowed as long as the bytes are.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 8 * words.len()) }
}
