//! Divisions that generated code calls with limbs in registers: what follows waits for them, and memory would take longer.

use crate::native::lowering::{
    limbs::{Helper, Limb, Target, ZERO},
    short_division::{divide_to_two, divide_to_two_by_products, reciprocal_by_products, reciprocal_of},
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

    reciprocal_with_products(low, high) {
        let [low, high] = reciprocal_by_products([low, high]);
        Pair(low, high)
    }

    quotient(first, second, third, fourth, low, high) {
        let [low, high] = divide_to_two([first, second, third, fourth], [low, high]);
        Pair(low, high)
    }

    quotient_with_products(first, second, third, fourth, low, high) {
        let [low, high] = divide_to_two_by_products([first, second, third, fourth], [low, high]);
        Pair(low, high)
    }
}

/// The arguments that a helper takes in registers, filled with zeros; none if they do not fit.
pub fn filled(helper: Helper, arguments: &[Limb], results: u32) -> Option<Vec<Limb>> {
    match helper {
        Helper::Reciprocal => Some(arguments.to_vec()),
        Helper::Divide { dividend } if results <= 2 => {
            let (dividend, divisor) = arguments.split_at(dividend.into());
            let filled = |limbs: &[Limb], size: usize| {
                let mut limbs = limbs.to_vec();
                (limbs.len() <= size).then(|| limbs.resize(size, ZERO)).map(|()| limbs)
            };
            Some([filled(dividend, 4)?, filled(divisor, 2)?].concat())
        }
        _ => None,
    }
}

/// The address of a helper that takes its arguments in registers.
pub fn entry(helper: Helper, target: Target) -> usize {
    let address = match (helper, target) {
        (Helper::Reciprocal, Target::SlowDivision) => reciprocal_with_products as *const (),
        (Helper::Reciprocal, _) => reciprocal as *const (),
        (_, Target::SlowDivision) => quotient_with_products as *const (),
        _ => quotient as *const (),
    };
    address as usize
}
