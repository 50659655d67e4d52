//! Calls of the kernel from generated code: with limbs in registers where they fit, otherwise in memory.

use cranelift_codegen::{
    ir::{AbiParam, BlockArg, InstBuilder, SigRef, Signature, Value, types::I64},
    isa::CallConv,
};
use cranelift_frontend::FunctionBuilder;

use super::{calls, emit::Emitter, registers};
use crate::native::lowering::limbs::{Helper, Limb};

/// How helpers are called.
pub(super) struct Signatures {
    memory: SigRef,
    /// With two limbs in registers, and with six.
    registers: [SigRef; 2],
}

impl Signatures {
    pub fn new(builder: &mut FunctionBuilder<'_>, convention: CallConv) -> Self {
        let mut memory = Signature::new(convention);
        memory.params.extend([AbiParam::new(I64); 3]);
        let registers = [2, 6].map(|count| {
            let known = if cfg!(target_arch = "x86_64") { CallConv::SystemV } else { convention };
            let mut signature = Signature::new(known);
            signature.params.extend(vec![AbiParam::new(I64); count]);
            signature.returns.extend([AbiParam::new(I64); 2]);
            builder.import_signature(signature)
        });
        Self { memory: builder.import_signature(memory), registers }
    }
}

impl Emitter<'_, '_> {
    /// Limbs that are right, or others that are computed aside.
    pub(super) fn guess(&mut self, wrong: Limb, guess: &[Limb], into: u32, call: impl FnOnce(&mut Self)) {
        let wrong = self.limb(wrong);
        let guess: Vec<Value> = guess.iter().map(|limb| self.limb(*limb)).collect();
        let (aside, on) = (self.builder.create_block(), self.builder.create_block());
        let given = |values: Vec<Value>| values.into_iter().map(BlockArg::from).collect::<Vec<_>>();
        self.builder.set_cold_block(aside);
        let count = guess.len();
        self.builder.ins().brif(wrong, aside, &[], on, &given(guess));
        self.builder.switch_to_block(aside);
        call(self);
        let found = (into..).take(count).map(|value| self.limb(Limb::Value(value))).collect();
        self.builder.ins().jump(on, &given(found));
        self.builder.switch_to_block(on);
        for value in (into..).take(count) {
            let found = self.builder.append_block_param(on, I64);
            self.set(value, found);
        }
    }

    pub(super) fn call(&mut self, helper: Helper, into: u32, results: u32, arguments: &[Limb]) {
        if let Some(arguments) = registers::filled(helper, arguments, results) {
            let entry = registers::entry(helper, self.lowered.writer.target);
            let given: Vec<Value> = arguments.iter().map(|limb| self.limb(*limb)).collect();
            let callee = self.builder.ins().iconst(I64, entry as i64);
            let call = self.builder.ins().call_indirect(self.signatures.registers[given.len() / 4], callee, &given);
            let found = self.builder.inst_results(call).to_vec();
            (into..).zip(found).take(results as usize).for_each(|(value, found)| self.set(value, found));
            return;
        }
        let [taken, given] = self.memory.expect("made for calls that are not in registers");
        for (at, limb) in arguments.iter().enumerate() {
            let value = self.limb(*limb);
            self.builder.ins().stack_store(value, taken, 8 * at as i32);
        }
        let (entry, detail) = calls::entry(helper, arguments.len(), &self.lowered.texts);
        let callee = self.builder.ins().iconst(I64, entry as usize as i64);
        let passed = [
            self.builder.ins().stack_addr(I64, taken, 0),
            self.builder.ins().stack_addr(I64, given, 0),
            self.builder.ins().iconst(I64, detail as i64),
        ];
        self.builder.ins().call_indirect(self.signatures.memory, callee, &passed);
        for at in 0..results {
            let value = self.builder.ins().stack_load(I64, given, 8 * at.cast_signed());
            self.set(into + at, value);
        }
    }
}
