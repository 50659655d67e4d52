//! The CUDA driver, found when the program runs: nothing of it is needed to build or to start.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::OnceLock,
};

/// The driver's library.
const LIBRARY: &CStr = c"libcuda.so.1";
const NOW: c_int = 2;

#[cfg(unix)]
unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

#[cfg(not(unix))]
unsafe fn dlopen(_: *const c_char, _: c_int) -> *mut c_void {
    std::ptr::null_mut()
}

#[cfg(not(unix))]
unsafe fn dlsym(_: *mut c_void, _: *const c_char) -> *mut c_void {
    std::ptr::null_mut()
}

macro_rules! driver {
    ($($name:ident = $symbol:literal ($($kind:ty),*);)*) => {
        /// Functions of the driver.
        pub struct Driver {
            $(pub $name: unsafe extern "C" fn($($kind),*) -> c_int,)*
        }

        impl Driver {
            fn load() -> Result<Self, String> {
                // SAFETY: the driver's library may be loaded by anybody; it stays loaded.
                let library = unsafe { dlopen(LIBRARY.as_ptr(), NOW) };
                if library.is_null() {
                    return Err(MISSING.to_owned());
                }
                // SAFETY: every symbol has the signature that the driver's interface gives it.
                Ok(unsafe { Self { $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> c_int>(symbol(library, $symbol)?),)* } })
            }
        }
    };
}

const MISSING: &str = "there is no CUDA driver on this machine (libcuda.so.1 was not found); run on a machine with an \
    NVIDIA GPU and its driver, or leave the device out to run on the processor";

unsafe fn symbol(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is loaded.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("the CUDA driver is too old: it has no {}; install a newer one", name.to_string_lossy()));
    }
    Ok(found)
}

driver! {
    init = c"cuInit" (c_uint);
    version = c"cuDriverGetVersion" (*mut c_int);
    error_name = c"cuGetErrorName" (c_int, *mut *const c_char);
    error_text = c"cuGetErrorString" (c_int, *mut *const c_char);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device = c"cuDeviceGet" (*mut c_int, c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_memory = c"cuDeviceTotalMem_v2" (*mut usize, c_int);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain_context = c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    use_context = c"cuCtxSetCurrent" (*mut c_void);
    free_memory = c"cuMemGetInfo_v2" (*mut usize, *mut usize);
    allocate = c"cuMemAlloc_v2" (*mut u64, usize);
    free = c"cuMemFree_v2" (u64);
    fill = c"cuMemsetD8_v2" (u64, u8, usize);
    copy_in = c"cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    copy_out = c"cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    load_module = c"cuModuleLoadDataEx" (*mut *mut c_void, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    find_function = c"cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    function_attribute = c"cuFuncGetAttribute" (*mut c_int, c_int, *mut c_void);
    launch = c"cuLaunchKernel" (*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    make_event = c"cuEventCreate" (*mut *mut c_void, c_uint);
    record_event = c"cuEventRecord" (*mut c_void, *mut c_void);
    await_event = c"cuEventSynchronize" (*mut c_void);
    elapsed = c"cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
    drop_event = c"cuEventDestroy_v2" (*mut c_void);
}

impl Driver {
    /// The driver of this machine, initialised; or why there is none.
    pub fn get() -> Result<&'static Self, String> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        let found = DRIVER.get_or_init(|| {
            let driver = Self::load()?;
            // SAFETY: the call has no argument but a number that must be zero.
            driver.check(unsafe { (driver.init)(0) }, "starting the CUDA driver")?;
            Ok(driver)
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// An error of the driver in words.
    pub fn check(&self, code: c_int, what: &str) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let text = |find: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: the driver gives a text that lives as long as it does, or nothing.
            unsafe {
                find(code, &raw mut text);
                if text.is_null() { "?".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
            }
        };
        Err(format!("{what} failed: {} ({})", text(self.error_text), text(self.error_name)))
    }
}
