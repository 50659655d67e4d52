//! Deliberate mistakes, to measure what finds them: the fuzzers, the self-check, the random functions of the tests.
//!
//! A build with the feature `faults` makes the one that `MAYAVI_FAULT` names; `python -m benchmarks.faults` goes through
//! all of them. Rust tests switch one on for a thread. Every other build has none of them.

macro_rules! faults {
    ($($(#[doc = $what:literal])+ $name:ident,)+) => {
        /// A mistake in recording, gas, guards, folding or code generation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Fault {
            $($(#[doc = $what])+ $name,)+
        }

        impl Fault {
            pub const EVERY: &'static [Self] = &[$(Self::$name,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

faults! {
    // Recording.
    /// A converted branch may push beyond 1,024 words.
    StackLimit,
    /// A converted branch may have instructions that the hard fork lacks.
    InactiveOpcode,
    /// Two keys of slots that are expressions are taken for different ones.
    SlotsAlias,
    /// A frame that reverts keeps its writes.
    RevertKeepsWrites,
    /// Transient storage outlives its transaction.
    TransientSurvives,
    /// A place in memory may be another one on other rows.
    OffsetNotRequired,
    /// A condition that is not zero counts as known.
    TruthPinsValue,
    /// The gas that a call is given may be another amount on other rows.
    CallGasNotRequired,
    // Gas.
    /// The floor of calldata is left out where a refund is the same on every row.
    FloorForgotten,
    /// Refunds are not capped.
    RefundUncapped,
    /// A byte of calldata that is not zero is counted as zero where only its highest bit is set.
    BytesMiscounted,
    /// A slot that a transaction writes a second time costs as if it were the first.
    StoreClass,
    /// A path may run out of gas where calls have less of it to spare than they vary in.
    GasToSpare,
    // Guards and folding.
    /// The last guard of a path is lost.
    PathGuardDropped,
    /// Code that is replaced does not count as changed.
    CodeChange,
    /// Storage that is cleared does not count as changed.
    ClearedStorage,
    /// A slot that some row has written is folded all the same.
    WrittenFolded,
    // Code generation.
    /// A mask is one bit too short.
    MaskOneBitShort,
    /// A carry is lost.
    CarryLost,
    /// A guessed quotient is not corrected.
    NoCorrection,
    // Of tests alone.
    /// A limit is one too high.
    LimitOneTooHigh,
    /// A guard of a function is lost.
    GuardDropped,
    /// A guessed quotient of two limbs is trusted.
    GuessTrusted,
}

#[cfg(test)]
thread_local! {
    static FAULT: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

impl Fault {
    /// Those that the measurement goes through.
    pub const MEASURED: usize = 20;
    /// Mistakes of code generation, which random functions must notice.
    #[cfg(test)]
    pub const OF_FUNCTIONS: [Self; 5] =
        [Self::MaskOneBitShort, Self::LimitOneTooHigh, Self::GuardDropped, Self::NoCorrection, Self::CarryLost];

    #[inline(always)]
    pub fn is_on(self) -> bool {
        #[cfg(test)]
        return FAULT.get() == Some(self);
        #[cfg(all(feature = "faults", not(test)))]
        return chosen() == Some(self);
        #[cfg(not(any(feature = "faults", test)))]
        false
    }

    /// Run with a mistake in this thread.
    #[cfg(test)]
    pub fn during<T>(fault: Option<Self>, run: impl FnOnce() -> T) -> T {
        FAULT.set(fault);
        let result = run();
        FAULT.set(None);
        result
    }
}

/// The mistake that this process makes.
#[cfg(all(feature = "faults", not(test)))]
fn chosen() -> Option<Fault> {
    static CHOSEN: std::sync::LazyLock<Option<Fault>> = std::sync::LazyLock::new(|| {
        let name = std::env::var("MAYAVI_FAULT").ok().filter(|name| !name.is_empty())?;
        let known = Fault::EVERY.iter().copied().find(|fault| fault.name() == name);
        assert!(known.is_some(), "MAYAVI_FAULT is '{name}', which is no fault");
        known
    });
    *CHOSEN
}

/// Names of the mistakes that this build can make; none without the feature `faults`.
#[pyo3::pyfunction]
pub fn faults() -> Vec<&'static str> {
    let those = if cfg!(feature = "faults") { &Fault::EVERY[..Fault::MEASURED] } else { &[] };
    those.iter().map(|fault| fault.name()).collect()
}
