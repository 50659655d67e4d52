//! Divisions that generated code calls with limbs in registers: what follows waits for them, and memory would take longer.

use crate::native::lowering::{
    limbs::{Helper, Limb, ZERO},
    short_division::{divide_to_two, reciprocal_of},
};

/// Two limbs as they are returned: in two registers.
#[repr(C)]
pub struct Pair(u64, u64);

/// Define functions by the one convention that the generated code knows on each processor.
macro_rules! in_registers {
    ($($name:ident($($argument:ident),*) $body:block)*) => {$(
        #[cfg(target_arch = "x86_64")]
        extern "sysv64" fn $name($($argument: u64),*) -> Pair $body
        #[cfg(not(target_arch = "x86_64"))]
        extern "C" fn $name($($argument: u64),*) -> Pair $body
    )*};
}

in_registers! {
    reciprocal(low, high) {
        let [low, high] = reciprocal_of([low, high]);
        Pair(low, high)
    }

    quotient(first, second, third, fourth, low, high) {
        let [low, high] = divide_to_two([first, second, third, fourth], [low, high]);
        Pair(low, high)
    }
}

/// The address of a helper and its arguments, where its limbs fit into registers.
pub fn entry(helper: Helper, arguments: &[Limb], results: u32) -> Option<(usize, Vec<Limb>)> {
    match helper {
        Helper::Reciprocal => Some((reciprocal as *const () as usize, arguments.to_vec())),
        Helper::Divide { dividend } if results <= 2 => {
            let (dividend, divisor) = arguments.split_at(dividend.into());
            let filled = |limbs: &[Limb], size: usize| {
                let mut limbs = limbs.to_vec();
                (limbs.len() <= size).then(|| limbs.resize(size, ZERO)).map(|()| limbs)
            };
            let given = [filled(dividend, 4)?, filled(divisor, 2)?].concat();
            Some((quotient as *const () as usize, given))
        }
        _ => None,
    }
}
