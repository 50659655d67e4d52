//! Deliberate mistakes, which only tests can switch on: the fuzzing must notice each of them.

/// A mistake in a pass, the lowering or a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    MaskOneBitShort,
    LimitOneTooHigh,
    GuardDropped,
    NoCorrection,
    CarryLost,
    /// Not among all of them: only quotients of two limbs by one divisor are guessed.
    GuessTrusted,
}

#[cfg(test)]
thread_local! {
    static FAULT: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

impl Fault {
    #[cfg(test)]
    pub const ALL: [Self; 5] =
        [Self::MaskOneBitShort, Self::LimitOneTooHigh, Self::GuardDropped, Self::NoCorrection, Self::CarryLost];

    #[inline]
    pub fn is_on(self) -> bool {
        #[cfg(test)]
        return FAULT.get() == Some(self);
        #[cfg(not(test))]
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
