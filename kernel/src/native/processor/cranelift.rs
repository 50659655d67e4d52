//! Back end 1: machine code by Cranelift, one function for a whole batch of rows.

use cranelift_codegen::{
    ir::{AbiParam, types::I64},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleError, default_libcall_names};

use super::{row_loop::emit, rows::Rows};
use crate::native::{
    lowering::{
        limbs::{Target, weight},
        lower::{Lowered, lower},
    },
    ssa::{ir::Part, plan::Plan},
};

/// Inputs, outputs, flags, rows, and the bytes from one row to the next of inputs and outputs.
type Entry = unsafe extern "C" fn(*const u64, *mut u64, *mut u8, usize, usize, usize);

/// What a function may take to compile, for all rows that it computes side by side: some seconds at most. Beyond that
/// the plan is interpreted, because one thread compiles for the whole process.
pub const MOST_WEIGHT: usize = 1 << 19;
/// Instructions of the loop over rows.
const LOOP_WEIGHT: usize = 64;

/// Machine code of a plan. It is freed with this.
pub struct Machine {
    entry: Entry,
    module: Option<JITModule>,
    /// What hashes are made of; the code points to it.
    _texts: Vec<Vec<Part>>,
    /// Bytes of machine code.
    pub size: usize,
}

// SAFETY: finished code belongs to no thread, and the module is touched again only to free it, by whoever drops it.
unsafe impl Send for Machine {}
// SAFETY: a shared machine can only be run, which reads the code and the texts and writes to neither.
unsafe impl Sync for Machine {}

impl Machine {
    /// Compile a plan; fails where it would take too long, or this processor or executable memory is not to be had.
    pub fn new(plan: &Plan, target: Target) -> Result<Self, String> {
        let lowered = lower(plan, target);
        let weight = weight(&lowered.writer.code);
        if weight > MOST_WEIGHT {
            return Err(format!("no machine code: {weight} instructions are too many"));
        }
        let mut module = module()?;
        match define(&mut module, &lowered) {
            Ok((entry, size)) => Ok(Self { entry, module: Some(module), _texts: lowered.texts, size }),
            Err(error) => {
                // SAFETY: nobody has the address of any code in it: `define` gave none.
                unsafe { module.free_memory() };
                Err(format!("no machine code: {error}"))
            }
        }
    }

    /// Run every row.
    ///
    /// # Safety
    /// The rows have passed `Rows::check` with the words of the plan.
    pub unsafe fn run(&self, rows: &mut Rows<'_>) {
        // SAFETY: the code reads and writes the words of `count` rows and their flags, and nothing else: those that the
        // caller has checked.
        unsafe {
            (self.entry)(
                rows.inputs.as_ptr(),
                rows.outputs.as_mut_ptr(),
                rows.flags.as_mut_ptr(),
                rows.count,
                8 * rows.input_stride,
                8 * rows.output_stride,
            );
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: nobody runs the code any more: running it borrows `self`, and its address is nowhere else.
            unsafe { module.free_memory() };
        }
    }
}

/// Make the function and all of its code executable; returns it with its size.
fn define(module: &mut JITModule, lowered: &Lowered) -> Result<(Entry, usize), Box<ModuleError>> {
    let mut context = module.make_context();
    context.func.signature.params.extend([AbiParam::new(I64); 6]);
    let mut scratch = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let rows = emit(builder, lowered, module.isa().default_call_conv());
    debug_assert!(context.func.dfg.num_insts() <= rows * weight(&lowered.writer.code) + LOOP_WEIGHT);
    let id = module.declare_function("rows", Linkage::Export, &context.func.signature)?;
    module.define_function(id, &mut context)?;
    let size = context.compiled_code().map_or(0, |code| code.code_buffer().len());
    module.finalize_definitions()?;
    // SAFETY: the function was made with exactly this signature, by the convention of this machine for C.
    let entry = unsafe { std::mem::transmute::<*const u8, Entry>(module.get_finalized_function(id)) };
    Ok((entry, size))
}

fn module() -> Result<JITModule, String> {
    let mut flags = settings::builder();
    let verified = if cfg!(test) { "true" } else { "false" };
    for (name, value) in [
        // The limbs are folded already: Cranelift's own passes double the time to compile and gain nothing.
        ("opt_level", "none"),
        ("enable_verifier", verified),
        ("enable_alias_analysis", "false"),
        ("unwind_info", "false"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let host = cranelift_native::builder()?;
    let isa = host.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    Ok(JITModule::new(JITBuilder::with_isa(isa, default_libcall_names())))
}
