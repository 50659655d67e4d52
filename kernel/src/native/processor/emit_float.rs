//! Float instructions as Cranelift's: bits become floats and results bits again. Nothing is fused.

use cranelift_codegen::ir::{
    InstBuilder, MemFlags, Value,
    condcodes::FloatCC,
    types::{F32, F64, I64},
};
use cranelift_frontend::FunctionBuilder;

use crate::native::lowering::float_steps::FloatStep;

pub fn emit(builder: &mut FunctionBuilder<'_>, step: FloatStep, a: Value, b: Value) -> Value {
    let float = |builder: &mut FunctionBuilder<'_>, bits| builder.ins().bitcast(F64, MemFlags::new(), bits);
    let value = match step {
        FloatStep::OfUnsigned => builder.ins().fcvt_from_uint(F64, a),
        FloatStep::ToSigned => {
            let a = float(builder, a);
            return builder.ins().fcvt_to_sint_sat(I64, a);
        }
        FloatStep::IsNan => {
            let a = float(builder, a);
            let none = builder.ins().fcmp(FloatCC::Unordered, a, a);
            return builder.ins().uextend(I64, none);
        }
        FloatStep::Less => {
            let (a, b) = (float(builder, a), float(builder, b));
            let less = builder.ins().fcmp(FloatCC::LessThan, a, b);
            return builder.ins().uextend(I64, less);
        }
        FloatStep::Single => {
            let a = float(builder, a);
            let single = builder.ins().fdemote(F32, a);
            builder.ins().fpromote(F64, single)
        }
        FloatStep::Add | FloatStep::Subtract | FloatStep::Multiply | FloatStep::Divide => {
            let (a, b) = (float(builder, a), float(builder, b));
            let ins = builder.ins();
            match step {
                FloatStep::Add => ins.fadd(a, b),
                FloatStep::Subtract => ins.fsub(a, b),
                FloatStep::Multiply => ins.fmul(a, b),
                _ => ins.fdiv(a, b),
            }
        }
    };
    builder.ins().bitcast(I64, MemFlags::new(), value)
}
